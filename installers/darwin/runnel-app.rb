# Homebrew's cask of Runnel's desktop app, written by `npm run pack -- cask --downloads URL`.
cask "runnel-app" do
  arch arm: "arm64", intel: "x64"

  version "@VERSION@"
  sha256 arm:   "@ARM@",
         intel: "@INTEL@"

  url "@DOWNLOADS@/Runnel-app-#{version}-#{arch}.dmg"
  name "Runnel"
  desc "Network drive for narrow links: icon in the menu bar and windows"
  homepage "@DOWNLOADS@"

  depends_on macos: ">= :ventura"

  app "Runnel.app"

  uninstall quit: "runnel.desktop"

  caveats <<~EOS
    Nobody has run the app on a Mac yet: docs/untried.md of the sources says what was seen.
    Data stay when this is uninstalled. `runnel unsent` lists what is not on a server.
  EOS
end
