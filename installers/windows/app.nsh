; Included by electron-builder into the set-up of the desktop app. Where a newer version takes the place of one that has
; asked for it, the app alone is waited for, and ended: electron-builder's own macro ends every program below the app's
; folder, of which the agent is one, with its drives. Windows lets the files of a program that runs be moved away, which
; is how the uninstaller takes the older version's. All else, a removal too, ends as electron-builder has it; with what
; is removed, and has no newer version, goes what starts it at log-in.
!include "getProcessInfo.nsh"
!include "${__FILEDIR__}/at-login.nsh"
Var pid

!macro customCheckAppRunning
    ${If} ${isUpdated}
        StrCpy $R1 0
        runnel_look:
        nsExec::Exec `"$CmdPath" /C tasklist /FI "USERNAME eq %USERNAME%" /FI "IMAGENAME eq ${APP_EXECUTABLE_FILENAME}" /FO CSV /NH | "$SYSDIR\findstr.exe" /B /I /C:"\"${APP_EXECUTABLE_FILENAME}\""`
        Pop $R0
        ${If} $R0 == 0
        ${AndIf} $R1 < 40
            IntOp $R1 $R1 + 1
            ; It ends by itself, in ten seconds at most.
            ${If} $R1 > 20
                nsExec::Exec `"$CmdPath" /C taskkill /F /IM "${APP_EXECUTABLE_FILENAME}" /FI "USERNAME eq %USERNAME%"`
                Pop $R0
            ${EndIf}
            Sleep 500
            Goto runnel_look
        ${EndIf}
    ${Else}
        !insertmacro IS_POWERSHELL_AVAILABLE
        !insertmacro _CHECK_APP_RUNNING
    ${EndIf}
!macroend

!macro customUnInstall
    ${IfNot} ${isUpdated}
        !insertmacro ForgetOwnStart
    ${EndIf}
!macroend
