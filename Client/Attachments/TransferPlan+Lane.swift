/// What a plan knows of its lanes and transfers.
extension TransferPlan {
    /// Where a pass of a lane ends: what comes behind that is not of the pass.
    enum End: Sendable {
        /// Not known before its first page is read.
        case unknown
        /// At the end of the rows.
        case open
        /// There was no row.
        case nothing
        /// At the row that was the last one when it began.
        case at(TransferPlace)
    }

    /// What is known of a lane.
    struct Lane: Sendable {
        /// The last pass that was asked for when it began its own.
        var pass = 0
        /// The last one that it is through with.
        var passOver = 0
        var end = End.nothing
        /// Up to where rows were read since the pass began; nil at its beginning.
        var place: TransferPlace?
        /// Rows that were read and are not begun.
        var page: ArraySlice<TransferRow> = []
        /// Whether there may be rows behind the place.
        var hasMore = false
        var isReading = false
        /// Whether rows have changed since the reading began.
        var hasChanged = false
        /// Whether a pass begins when this one is over.
        var isDue = false
        /// Whether a row waits for the upload queue to be empty.
        var waits = false

        var isAtEnd: Bool { page.isEmpty && !hasMore && !isReading }
        /// Whether a pass may begin: the one before has begun all of its rows, or has seen none yet.
        var mayRestart: Bool { !isReading && (hasBegunAll || place == nil && page.isEmpty) }

        /// Whether a row at a place is of the pass.
        func has(_ row: TransferPlace) -> Bool {
            switch end {
            case .unknown, .open: true
            case .nothing: false
            case .at(let last): !row.isBehind(last)
            }
        }

        /// Whether no row of the pass is left to be begun.
        var hasBegunAll: Bool {
            if isAtEnd { return true }
            if page.contains(where: { has($0.place) }) { return false }
            switch end {
            case .unknown, .open: return false
            case .nothing: return true
            case .at(let last): return place.map { !last.isBehind($0) } ?? false
            }
        }
    }

    /// A transfer that is under way.
    struct Transfer: Sendable {
        /// Where it was found; nil for one of an earlier run, which has not ended.
        let row: TransferRow?
        /// Whether its row has left the lane.
        var isLeft = false
        var isCancelled = false
        /// Whether a lane has come to the row meanwhile.
        var isWanted = false
    }
}
