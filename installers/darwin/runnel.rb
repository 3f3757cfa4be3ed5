# Homebrew's formula of Runnel, written by `npm run pack -- macos --downloads URL`.
class Runnel < Formula
  desc "Network drive for narrow links: agent and command line"
  homepage "@DOWNLOADS@"
  version "@VERSION@"
  license "MIT"

  depends_on :macos
  depends_on "node"

  on_arm do
    url "@DOWNLOADS@/runnel-@VERSION@-darwin-arm64.tar.xz"
    sha256 "@ARM@"
  end

  on_intel do
    url "@DOWNLOADS@/runnel-@VERSION@-darwin-x64.tar.xz"
    sha256 "@INTEL@"
  end

  def install
    libexec.install Dir["*"]
    (bin/"runnel").write_env_script libexec/"bin/runnel", RUNNEL_NODE: Formula["node"].opt_bin/"node"
  end

  def caveats
    <<~EOS
      Nobody has mapped a drive on a Mac yet: docs/untried.md of the sources says what was seen.
      Data stay when this is uninstalled. `runnel unsent` lists what is not on a server.
    EOS
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/runnel --version")
  end
end
