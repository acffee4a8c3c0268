/// How large what queries come to may be; what is over a limit is refused, and nothing of it is built (LANGUAGE.md 4).
package enum PlanLimits {
    /// Terms of a query's normal form (service 6.9.1).
    package static let terms = 100
    /// Variants of a stream after merging (service 6.9.6).
    package static let variants = 100
    /// Tables and arrays that one term reads.
    package static let inputs = 64
    /// Conditions of all terms of a query: what stands outside of an OR is in each of its terms.
    package static let conditions = 10_000
    /// Terms, and conditions of them, of all queries of a configuration.
    package static let allConditions = 200_000
}
