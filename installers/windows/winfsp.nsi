    ; WinFsp is for all users and wants an administrator: Windows asks. Where nobody is, or says no, Runnel is there
    ; without drives, and the set-up ends with 3. WinFsp stays when Runnel goes: other programs may use it.
    SetRegView 32
    ReadRegStr $1 HKLM "Software\WinFsp" "InstallDir"
    ${If} $1 == ""
        InitPluginsDir
        File "/oname=$PLUGINSDIR\winfsp.msi" "@MSI@"
        ${If} ${Silent}
            ExecShellWait "runas" "$SYSDIR\msiexec.exe" '/i "$PLUGINSDIR\winfsp.msi" /qn /norestart' SW_HIDE
        ${Else}
            ExecShellWait "runas" "$SYSDIR\msiexec.exe" '/i "$PLUGINSDIR\winfsp.msi" /passive /norestart'
        ${EndIf}
        ReadRegStr $1 HKLM "Software\WinFsp" "InstallDir"
        ${If} $1 == ""
            MessageBox MB_OK|MB_ICONEXCLAMATION "Runnel is installed. WinFsp is not, and drives need it." /SD IDOK
            SetErrorLevel 3
        ${EndIf}
    ${EndIf}
    SetRegView 64
