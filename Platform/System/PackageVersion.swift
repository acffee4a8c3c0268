/// The version of this package, for `--version` and for what the programs call themselves to others.
package enum PackageVersion {
    /// The version (semver.org); with `-dev` for what comes between the last one and this.
    package static let current = "0.2.0-dev"
}
