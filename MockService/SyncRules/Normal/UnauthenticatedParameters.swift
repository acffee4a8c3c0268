/// The calls of a stream by which clients choose what they get (service 6.11).
///
/// Variants that requests find in the same way are one bucket, of which one call is told: that of the first. As
/// recorded what a mistake is in stays by itself (configurations, 1015; mistakes, 287, 1267 and 1363).
package struct UnauthenticatedParameters {
    /// What is told, in the order of the variants.
    package private(set) var diagnostics = DiagnosticList()
    private var known: Set<RequestIdentity> = []

    /// Makes a list without calls.
    package init() {}

    /// Adds the call of a variant.
    ///
    /// - Parameters:
    ///   - site: The call; nil if the token has a say in what is found.
    ///   - variant: The variant.
    ///   - isBroken: Whether a factor of it is wrong.
    mutating func add(_ site: Site?, of variant: Variant, isBroken: Bool) {
        let isNew = isBroken || known.insert(RequestIdentity(variant.request)).inserted
        guard isNew, let site else { return }
        diagnostics.add(Diagnostic(.unauthenticatedParameter, at: site.place))
    }
}
