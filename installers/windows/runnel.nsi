; Set-up of Runnel on Windows for one user, without rights of an administrator. `/S` installs silently, `/D=FOLDER`, the
; last word, into another folder; the uninstaller takes `/S` too. Data stay.
Unicode true
Target amd64-unicode
SetCompressor @COMPRESSOR@
SetDatablockOptimize on
CRCCheck on
Name "Runnel"
OutFile "@OUT@"
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\Runnel"
InstallDirRegKey HKCU "Software\Runnel" "Folder"
ManifestDPIAware true
ManifestSupportedOS all
VIProductVersion "@VERSION@.0"
VIAddVersionKey "ProductName" "Runnel"
VIAddVersionKey "ProductVersion" "@VERSION@"
VIAddVersionKey "FileVersion" "@VERSION@"
VIAddVersionKey "FileDescription" "Set-up of Runnel"
VIAddVersionKey "LegalCopyright" "MIT licence"

!include LogicLib.nsh
!include FileFunc.nsh
!include "@FOLDER@/at-login.nsh"
!define ENTRY "Software\Microsoft\Windows\CurrentVersion\Uninstall\Runnel"

Page directory
Page instfiles
UninstPage uninstConfirm
UninstPage instfiles

; Leaves everything as it was, and ends with 2.
!macro Refuse SENTENCE
    MessageBox MB_OK|MB_ICONSTOP "${SENTENCE}" /SD IDOK
    Abort "${SENTENCE}"
!macroend

Section
    SetShellVarContext current
    ; What is installed goes by its own uninstaller, which knows its files and ends its agent. In its folder the newer
    ; version is what Windows goes on to start at log-in.
    ReadRegStr $1 HKCU "Software\Runnel" "Folder"
    ${If} ${FileExists} "$1\uninstall.exe"
        StrCpy $2 ""
        ${If} $1 == $INSTDIR
            StrCpy $2 "/newer"
        ${EndIf}
        ExecWait '"$1\uninstall.exe" /S $2 _?=$1' $0
        ${If} $0 <> 0
            !insertmacro Refuse "The version that is installed cannot be removed: programs may use its drives."
        ${EndIf}
        Delete "$1\uninstall.exe"
        RMDir "$1"
    ${EndIf}
    ClearErrors
@INSTALL@
    ${If} ${Errors}
        !insertmacro Refuse "Files cannot be written to $INSTDIR."
    ${EndIf}
    WriteUninstaller "$INSTDIR\uninstall.exe"
    WriteRegStr HKCU "Software\Runnel" "Folder" "$INSTDIR"
    WriteRegStr HKCU "${ENTRY}" "DisplayName" "Runnel"
    WriteRegStr HKCU "${ENTRY}" "DisplayVersion" "@VERSION@"
    WriteRegStr HKCU "${ENTRY}" "Publisher" "The Runnel authors"
    WriteRegStr HKCU "${ENTRY}" "InstallLocation" "$INSTDIR"
    WriteRegStr HKCU "${ENTRY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
    WriteRegStr HKCU "${ENTRY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
    WriteRegDWORD HKCU "${ENTRY}" "EstimatedSize" @SIZE@
    WriteRegDWORD HKCU "${ENTRY}" "NoModify" 1
    WriteRegDWORD HKCU "${ENTRY}" "NoRepair" 1
    CreateDirectory "$SMPROGRAMS\Runnel"
    SetOutPath "$INSTDIR"
    CreateShortCut "$SMPROGRAMS\Runnel\Runnel.lnk" "$INSTDIR\runnel.cmd" "ui" "" "" SW_SHOWMINIMIZED
    CreateShortCut "$SMPROGRAMS\Runnel\Runnel command line.lnk" "$SYSDIR\cmd.exe" '/k set "PATH=$INSTDIR;%PATH%"'
@WINFSP@
SectionEnd

Section "Uninstall"
    SetShellVarContext current
    ; Unmounts the drives first, and fails while programs use them. Node wants to have somewhere to write to.
    ${If} ${FileExists} "$INSTDIR\runnel.cmd"
        ExecWait '"$SYSDIR\cmd.exe" /c ""$INSTDIR\runnel.cmd" stop > NUL 2>&1 < NUL"' $0
        ${If} $0 <> 0
            !insertmacro Refuse "Runnel cannot be ended: close the programs that use its drives, then try again."
        ${EndIf}
    ${EndIf}
    ; Windows removes no program that runs, and the agent's process goes a moment after it has answered. What else runs
    ; in this folder, as a command in another window, is waited for half a minute.
    StrCpy $1 0
    ${Do}
        ClearErrors
        Delete "$INSTDIR\node.exe"
        ${IfNot} ${Errors}
            ${ExitDo}
        ${EndIf}
        IntOp $1 $1 + 1
        ${If} $1 > 120
            !insertmacro Refuse "A command of Runnel still runs: end it, then try again."
        ${EndIf}
        Sleep 250
    ${Loop}
    Delete "$SMPROGRAMS\Runnel\Runnel.lnk"
    Delete "$SMPROGRAMS\Runnel\Runnel command line.lnk"
    RMDir "$SMPROGRAMS\Runnel"
    ; Only what was installed, wherever that is.
@REMOVE@
    Delete "$INSTDIR\uninstall.exe"
    SetOutPath "$TEMP"
    RMDir "$INSTDIR"
    ${GetParameters} $1
    ClearErrors
    ${GetOptions} $1 "/newer" $2
    ${If} ${Errors}
        !insertmacro ForgetOwnStart
    ${EndIf}
    DeleteRegKey HKCU "${ENTRY}"
    DeleteRegValue HKCU "Software\Runnel" "Folder"
    DeleteRegKey /ifempty HKCU "Software\Runnel"
SectionEnd
