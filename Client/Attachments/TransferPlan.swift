/// Decides which file is transferred next, for three lanes that do not wait for each other (SPEC.md, "Transfers").
///
/// It knows the places up to which it has looked at the rows, a page of rows for each lane, and what is under way: as
/// much for ten rows as for ten thousand.
struct TransferPlan: Sendable {
    /// What is to be done now.
    enum Step: Sendable, Hashable {
        /// A lane begins at its first row.
        case restart(TransferLane)
        /// The next page of a lane is to be read.
        case read(TransferLane, behind: TransferPlace?)
        /// A row is to be read whose transfer has ended.
        case look(String)
        /// A row is to be transferred.
        case begin(TransferRow)
        /// The transfer of a row is to be cancelled: the row is to be deleted.
        case cancel(String)
        /// What is beyond the limit of the cache is to be removed.
        case expire
    }

    /// How a transfer ended.
    enum Outcome: Sendable, Hashable {
        /// Done, or there was nothing to do; or it failed and is left alone until the next full pass.
        case over
        /// It is tried again once the upload queue is empty.
        case waits
    }

    /// How many rows a page has at most.
    static let pageSize = 64

    private struct Lane: Sendable {
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
        /// Whether a pass may begin: the one before is over, or has seen no row yet.
        var mayRestart: Bool { isAtEnd || place == nil && page.isEmpty && !isReading }
    }

    private struct Transfer: Sendable {
        let lane: TransferLane
        var isCancelled = false
        /// Whether another lane has come to the row meanwhile.
        var isWanted = false
    }

    private let mostAtOnce: Int
    private let pageSize: Int
    private let throttle: Duration
    private var lanes: [TransferLane: Lane] = [:]
    private var transfers: [String: Transfer] = [:]
    /// Rows to be looked at anew; no more than there are transfers.
    private var looks: [String] = []
    private var looking = 0
    /// Lanes for which a pass is asked that the throttle holds back.
    private var asked: Set<TransferLane> = []
    private var lastPass: Duration?
    private var mayHaveExpired = false
    private var isExpiring = false

    /// Whether this process is the one that transfers; nothing is begun otherwise.
    private(set) var mayTransfer = false
    /// How many full passes were asked for.
    private(set) var passesAsked = 0
    /// Of those that were asked for, how many are over: nothing is under way, nothing left to begin.
    private(set) var passesOver = 0

    /// Makes a plan that has nothing to do.
    ///
    /// - Parameters:
    ///   - mostAtOnce: how many files of a lane are transferred at once.
    ///   - throttle: the least time between the beginnings of two passes.
    ///   - pageSize: how many rows are read at once.
    init(mostAtOnce: Int, throttle: Duration, pageSize: Int = Self.pageSize) {
        self.mostAtOnce = max(1, mostAtOnce)
        self.throttle = throttle
        self.pageSize = pageSize
        for lane in TransferLane.allCases { lanes[lane] = Lane() }
    }

    // MARK: What is known

    /// How many rows it holds.
    var heldRows: Int { lanes.values.reduce(transfers.count + looks.count) { $0 + $1.page.count } }

    /// The ids of the rows that are under way.
    var underWay: Set<String> { Set(transfers.keys) }

    /// Whether a row waits for the upload queue to be empty.
    var waitsForQueue: Bool { lanes.values.contains { $0.waits } }

    /// When the pass may begin that the throttle holds back; nil if there is none.
    var passMoment: Duration? {
        guard mayTransfer, !asked.isEmpty else { return nil }
        guard let lastPass else { return .zero }
        return lastPass + throttle
    }

    // MARK: What happens

    /// Says whether this process is the one that transfers; a pass begins when it is.
    mutating func setMayTransfer(_ mayTransfer: Bool) {
        guard self.mayTransfer != mayTransfer else { return }
        self.mayTransfer = mayTransfer
        if mayTransfer { askForPass() }
    }

    /// Asks for a full pass: all rows are tried again, each lane once it is through with those before.
    ///
    /// - Returns: the number of the pass, for ``passesOver``.
    @discardableResult
    mutating func askForPass() -> Int {
        asked = Set(TransferLane.allCases)
        passesAsked += 1
        return passesAsked
    }

    /// Says that rows have changed: lanes look behind their places.
    mutating func rowsChanged() {
        for lane in TransferLane.allCases {
            if lanes[lane]?.isReading == true {
                lanes[lane]?.hasChanged = true
            } else {
                lanes[lane]?.hasMore = true
            }
        }
        mayHaveExpired = true
    }

    /// Says that the upload queue is empty: lanes in which rows wait for that begin anew.
    mutating func queueEmptied() {
        for lane in TransferLane.allCases where lanes[lane]?.waits == true {
            lanes[lane]?.waits = false
            asked.insert(lane)
        }
    }

    /// Takes the rows that were read.
    ///
    /// - Parameters:
    ///   - rows: the rows in their order, fewer than a page at the end; nil if reading failed, which ends the pass of
    ///   the lane.
    ///   - lane: the lane.
    mutating func didRead(_ rows: [TransferRow]?, of lane: TransferLane) {
        guard var read = lanes[lane], read.isReading else { return }
        read.isReading = false
        read.page = (rows ?? [])[...]
        if let last = rows?.last { read.place = last.place }
        read.hasMore = read.hasChanged || (rows ?? []).count >= pageSize
        read.hasChanged = false
        lanes[lane] = read
    }

    /// Takes the row that was looked at; nil if nothing is to be transferred.
    mutating func didLook(_ row: TransferRow?) {
        looking -= 1
        guard let row, var lane = lanes[row.lane] else { return }
        lane.page.insert(row, at: lane.page.startIndex)
        lanes[row.lane] = lane
    }

    /// Says that a transfer is over.
    mutating func ended(_ id: String, _ outcome: Outcome) {
        guard let transfer = transfers.removeValue(forKey: id) else { return }
        if outcome == .waits { lanes[transfer.lane]?.waits = true }
        if transfer.isWanted { looks.append(id) }
        mayHaveExpired = true
    }

    /// Says that the cache is within its limit, as far as that could be done.
    mutating func didExpire() { isExpiring = false }

    // MARK: What is to be done

    /// Returns what is to be done now, and takes it for begun.
    ///
    /// - Parameter now: the time since some moment.
    /// - Returns: the steps in their order; none if everything has to wait.
    mutating func steps(at now: Duration) -> [Step] {
        guard mayTransfer else { return [] }
        if let passMoment, now >= passMoment {
            for lane in asked { lanes[lane]?.isDue = true }
            asked = []
            lastPass = now
            mayHaveExpired = true
        }
        var steps = looks.map { Step.look($0) }
        looking += looks.count
        looks = []
        for lane in TransferLane.allCases { advance(lane, &steps) }
        if mayHaveExpired, !isExpiring, looking == 0, lanes.values.allSatisfy({ $0.isAtEnd && !$0.isDue }) {
            (mayHaveExpired, isExpiring) = (false, true)
            steps.append(.expire)
        }
        if isAtRest { passesOver = passesAsked }
        return steps
    }

    /// Whether nothing is under way, or left to begin before something happens.
    private var isAtRest: Bool {
        asked.isEmpty && transfers.isEmpty && looks.isEmpty && looking == 0 && !mayHaveExpired && !isExpiring
            && lanes.values.allSatisfy { $0.isAtEnd && !$0.isDue }
    }

    private mutating func advance(_ lane: TransferLane, _ steps: inout [Step]) {
        guard var state = lanes[lane] else { return }
        if state.isDue, state.mayRestart {
            state = Lane(hasMore: true)
            steps.append(.restart(lane))
        }
        var free = mostAtOnce - transfers.values.count { $0.lane == lane }
        while free > 0, let row = state.page.popFirst() {
            guard let transfer = transfers[row.id] else {
                transfers[row.id] = Transfer(lane: lane)
                steps.append(.begin(row))
                free -= 1
                continue
            }
            // In the same lane it is what is under way.
            guard transfer.lane != lane else { continue }
            transfers[row.id]?.isWanted = true
            if lane == .delete, !transfer.isCancelled {
                transfers[row.id]?.isCancelled = true
                steps.append(.cancel(row.id))
            }
        }
        if free > 0, state.page.isEmpty, state.hasMore, !state.isReading {
            state.isReading = true
            state.hasMore = false
            state.hasChanged = false
            steps.append(.read(lane, behind: state.place))
        }
        lanes[lane] = state
    }
}
