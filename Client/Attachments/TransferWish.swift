/// What a plan wants to know of the rows, to be read at once.
struct TransferWish: Sendable, Hashable {
    /// The next rows of a lane.
    struct Page: Sendable, Hashable {
        let lane: TransferLane
        /// Behind which place; nil for the first ones.
        let place: TransferPlace?
    }

    /// Which rows are to be read.
    private(set) var pages: [Page] = []
    /// The rows under way of which it is to be read for which lanes they wait.
    private(set) var ids: [String] = []

    /// Takes it out of the steps of a plan.
    init(_ steps: [TransferPlan.Step]) {
        for step in steps {
            switch step {
            case .read(let lane, let place): pages.append(Page(lane: lane, place: place))
            case .inspect(let ids): self.ids += ids
            case .restart, .look, .begin, .cancel, .expire: break
            }
        }
    }

    /// Whether nothing is to be read.
    var isEmpty: Bool { pages.isEmpty && ids.isEmpty }
}

/// What was found of the rows, at one moment; what cannot be read keeps nothing else from being found.
struct TransferFindings: Sendable {
    /// The next rows of a lane.
    struct Page: Sendable {
        var rows: [TransferRow] = []
        /// The place of the last row of the lane, if these are its first ones; nil where there is none.
        var last: TransferPlace?
    }

    /// One for each that was wished, in the same order; nil for one that could not be read.
    var pages: [Page?] = []
    /// The lanes for which rows wait, by their ids; nil if these could not be read.
    var lanes: [String: TransferLane]? = [:]
    /// What reading has failed with first.
    private(set) var failure: (any Error)?

    /// Reads a part of it; returns nil where that fails.
    mutating func part<Part>(_ read: () throws -> Part) -> Part? {
        do {
            return try read()
        } catch {
            if failure == nil { failure = error }
            return nil
        }
    }
}
