; Windows is to start nothing at log-in that is gone. What starts another copy of Runnel stays. Key and value are those
; of app/src/agent/start/host/windows/run-value.ts.
!define RUNS "Software\Microsoft\Windows\CurrentVersion\Run"
!define STARTS "Runnel drives"

; Removes the value that starts what lies in $INSTDIR.
!macro ForgetOwnStart
    ReadRegStr $R0 HKCU "${RUNS}" "${STARTS}"
    StrCpy $R1 '"$INSTDIR\'
    StrLen $R2 $R1
    StrCpy $R0 $R0 $R2
    ${If} $R0 == $R1
        DeleteRegValue HKCU "${RUNS}" "${STARTS}"
    ${EndIf}
!macroend
