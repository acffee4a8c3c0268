/// The version of this package, for `--version` and for what the programs call themselves to others.
package enum PackageVersion {
    /// The version (semver.org).
    package static let current = "0.1.0"
}
