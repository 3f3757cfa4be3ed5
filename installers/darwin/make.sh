#!/bin/sh
# Makes, on a Mac, the package or the disk image of agent and command line, from the tarball of `npm run pack -- macos`:
#
#     installers/darwin/make.sh pkg TARBALL NODE OUT    # NODE: the program that comes along, of 24 or newer
#     installers/darwin/make.sh dmg TARBALL NODE OUT    # the same package in an image, with the licences
#
# It is signed by those who are named, and named by that: without them its name ends with "-unsigned".
#     RUNNEL_APPLE_APPLICATION  "Developer ID Application: …", for programs and the image
#     RUNNEL_APPLE_INSTALLER    "Developer ID Installer: …", for the package
#     RUNNEL_APPLE_NOTARY       profile of notarytool in the keychain (xcrun notarytool store-credentials)
set -eu
kind=$1 tarball=$2 node=$3 out=$4
here=$(dirname -- "$0")
application=${RUNNEL_APPLE_APPLICATION:-} installer=${RUNNEL_APPLE_INSTALLER:-} notary=${RUNNEL_APPLE_NOTARY:-}

refuse() { echo "$1" >&2; exit 1; }

case $kind in pkg | dmg) ;; *) refuse "$kind is neither pkg nor dmg." ;; esac
name=$(basename -- "$tarball" .tar.xz)
version=$(echo "$name" | sed -nE 's/^runnel-([0-9]+\.[0-9]+\.[0-9]+)-darwin-(arm64|x64)$/\1/p')
[ -n "$version" ] || refuse "$tarball is no tarball of Runnel for macOS."
processor=${name##*-}
case $processor in arm64) apple=arm64 ;; *) apple=x86_64 ;; esac
case $("$node" --version) in v2[4-9].* | v[3-9][0-9].*) ;; *) refuse "$node is older than Node 24." ;; esac
# Half a signature would be called one.
[ -n "$application$installer$notary" ] && for each in "$application" "$installer" "$notary"; do
    [ -n "$each" ] || refuse "RUNNEL_APPLE_APPLICATION, _INSTALLER and _NOTARY go together: set all, or none."
done
[ -n "$application" ] && mark= || mark=-unsigned

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
own=$work/root/usr/local/lib/runnel
mkdir -p -- "$own" "$work/root/usr/local/bin" "$out"
tar -xJf "$tarball" -C "$own" --strip-components 1
cp -- "$node" "$own/node"
cp -- "$here/runnel" "$work/root/usr/local/bin/runnel"
chmod 755 "$own/node" "$work/root/usr/local/bin/runnel"

if [ -n "$application" ]; then
    find "$own" -name '*.node' -exec codesign --force --timestamp --options runtime --sign "$application" -- {} +
    codesign --force --timestamp --options runtime --entitlements "$here/node.entitlements" --sign "$application" \
        -- "$own/node"
    codesign --verify --strict -- "$own/node"
fi

# Apple looks at it, and gives a ticket that is put into it.
notarise() {
    [ -n "$notary" ] || return 0
    xcrun notarytool submit "$1" --keychain-profile "$notary" --wait
    xcrun stapler staple "$1"
}

pkg=$work/Runnel-$version-$processor$mark.pkg
pkgbuild --root "$work/root" --identifier runnel.agent --version "$version" --install-location / "$work/agent.pkg"
sed -e "s/@VERSION@/$version/" -e "s/@PROCESSOR@/$apple/" "$here/distribution.xml" > "$work/distribution.xml"
productbuild --distribution "$work/distribution.xml" --package-path "$work" ${installer:+--sign "$installer"} "$pkg"
[ -z "$installer" ] || pkgutil --check-signature "$pkg"
notarise "$pkg"
made=$pkg

if [ "$kind" = dmg ]; then
    mkdir -- "$work/image"
    cp -- "$pkg" "$own/LICENSE" "$own/THIRD-PARTY.txt" "$work/image/"
    made=$work/Runnel-$version-$processor$mark.dmg
    hdiutil create -volname "Runnel $version" -srcfolder "$work/image" -fs HFS+ -format UDZO -ov "$made"
    [ -z "$application" ] || codesign --timestamp --sign "$application" -- "$made"
    notarise "$made"
fi
cp -- "$made" "$out/"
echo "$out/$(basename -- "$made")"
