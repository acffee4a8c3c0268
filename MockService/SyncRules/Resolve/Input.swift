/// Where a value comes from; equal ones are the same row.
package enum Input: Sendable, Hashable {
    /// The request: token, parameters of the connection and of the subscription.
    case request
    /// A row of a table in FROM, by its number in the query; those of CTEs and sub-selects have numbers of their own.
    case row(Int)
    /// An element of a `json_each`, by its number in the query.
    case element(Int)
}

/// The inputs that something depends on; none for a constant.
package struct InputSet: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// The inputs.
    package private(set) var members: Set<Input>

    /// Makes a set of inputs.
    package init(_ members: Set<Input> = []) { self.members = members }

    /// Makes a set of inputs.
    package init(arrayLiteral inputs: Input...) { members = Set(inputs) }

    /// Whether it is that of a constant.
    package var isEmpty: Bool { members.isEmpty }

    /// The input if there is exactly one.
    package var only: Input? { members.count == 1 ? members.first : nil }

    /// Whether the input is one of them.
    package func contains(_ input: Input) -> Bool { members.contains(input) }

    /// Whether all of them are in another set.
    package func isSubset(of other: InputSet) -> Bool { members.isSubset(of: other.members) }

    /// Takes those of another set in.
    package mutating func formUnion(_ other: InputSet) { members.formUnion(other.members) }

    /// Both together.
    package func union(_ other: InputSet) -> InputSet { InputSet(members.union(other.members)) }
}
