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
        /// It is to be read for which lanes the rows wait that are under way.
        case inspect([String])
        /// The transfer of a row is to be cancelled: the row does not wait for it any more.
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
    /// Whether rows under way may have left their lanes.
    private var mayHaveLeft = false
    private var isInspecting = false
    private var mayHaveExpired = false
    /// The last pass behind which the cache is being looked at; nil while it is not.
    private var expiring: Int?
    private var lastExpiry: Duration?

    /// Whether this process is the one that transfers; nothing is begun otherwise.
    private(set) var mayTransfer = false
    /// How many full passes were asked for.
    private(set) var passesAsked = 0
    /// Of those that were asked for, how many are over: all rows that waited when it began were tried, and the cache was
    /// looked at.
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

    /// The last pass that was asked for when a lane began its own.
    func pass(of lane: TransferLane) -> Int { lanes[lane]?.pass ?? 0 }

    /// Whether a row waits for the upload queue to be empty.
    var waitsForQueue: Bool { lanes.values.contains { $0.waits } }

    /// When the pass may begin that the throttle holds back; nil if there is none.
    var passMoment: Duration? {
        guard mayTransfer, !asked.isEmpty else { return nil }
        guard let lastPass else { return .zero }
        return lastPass + throttle
    }

    /// When the cache may be looked at again; nil if there is no reason for that.
    private var expiryMoment: Duration? {
        guard mayTransfer, mayHaveExpired, expiring == nil else { return nil }
        guard let lastExpiry else { return .zero }
        return lastExpiry + throttle
    }

    /// When there is something to be done that the throttle holds back; nil if there is nothing.
    var moment: Duration? { [passMoment, expiryMoment].compactMap { $0 }.min() }

    // MARK: What happens

    /// Says that transfers of an earlier run have not ended: their rows are left alone until they have.
    mutating func leave(_ ids: Set<String>) {
        for id in ids { transfers[id] = Transfer(row: nil) }
    }

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
        mayHaveLeft = true
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
    ///   - last: the place of the last row that waits, if these are the first ones of a pass; nil where it is not known.
    mutating func didRead(_ rows: [TransferRow]?, of lane: TransferLane, last: TransferPlace? = nil) {
        guard var read = lanes[lane], read.isReading else { return }
        read.isReading = false
        if case .unknown = read.end {
            let hasRows = rows?.isEmpty == false
            read.end = hasRows ? last.map { End.at($0) } ?? .open : .nothing
        }
        // Behind what was looked at meanwhile, which may be what is read, too.
        let known = Set(read.page)
        read.page += (rows ?? []).filter { !known.contains($0) }
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

    /// Takes the lanes for which rows wait that are under way; nil if reading failed.
    mutating func didInspect(_ found: [String: TransferLane]?, of ids: [String]) {
        isInspecting = false
        guard let found else { return }
        for id in ids {
            guard let lane = transfers[id]?.row?.lane, found[id] != lane else { continue }
            transfers[id]?.isLeft = true
        }
    }

    /// Says that a transfer is over.
    mutating func ended(_ id: String, _ outcome: Outcome) {
        guard let transfer = transfers.removeValue(forKey: id) else { return }
        if outcome == .waits, let lane = transfer.row?.lane { lanes[lane]?.waits = true }
        if transfer.isWanted { looks.append(id) }
        mayHaveExpired = true
    }

    /// Says that the cache is within its limit, as far as that could be done.
    mutating func didExpire() {
        passesOver = max(passesOver, expiring ?? 0)
        expiring = nil
    }

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
            // A look at those under way may have failed.
            mayHaveLeft = true
        }
        var steps = looks.map { Step.look($0) }
        looking += looks.count
        looks = []
        for lane in TransferLane.allCases { advance(lane, &steps) }
        inspect(&steps)
        expire(at: now, &steps)
        return steps
    }

    private mutating func advance(_ lane: TransferLane, _ steps: inout [Step]) {
        guard var state = lanes[lane] else { return }
        if state.isDue, state.mayRestart {
            state = Lane(pass: passesAsked, passOver: state.passOver, end: .unknown, hasMore: true)
            steps.append(.restart(lane))
        }
        var free = mostAtOnce - transfers.values.count { $0.row?.lane == lane }
        while free > 0, let row = state.page.popFirst() {
            guard let transfer = transfers[row.id] else {
                transfers[row.id] = Transfer(row: row)
                steps.append(.begin(row))
                free -= 1
                continue
            }
            // Otherwise it is what is under way; a row that has left its lane and come back has another time.
            if transfer.row != row { transfers[row.id]?.isWanted = true }
        }
        if free > 0, state.page.isEmpty, state.hasMore, !state.isReading {
            state.isReading = true
            state.hasMore = false
            state.hasChanged = false
            steps.append(.read(lane, behind: state.place))
        }
        if !state.isDue, state.hasBegunAll, !isUnderWay(lane, state) { state.passOver = state.pass }
        lanes[lane] = state
    }

    /// Whether a transfer has not ended that the pass of a lane waits for.
    ///
    /// What an earlier run has left may never end, and nobody waits for it.
    private func isUnderWay(_ lane: TransferLane, _ state: Lane) -> Bool {
        guard looks.isEmpty, looking == 0 else { return true }
        return transfers.values.contains { transfer in
            guard let row = transfer.row else { return false }
            return transfer.isWanted || !transfer.isLeft && row.lane == lane && state.has(row.place)
        }
    }

    /// Has rows looked at that are under way, and transfers cancelled whose rows have left their lanes.
    private mutating func inspect(_ steps: inout [Step]) {
        for (id, transfer) in transfers where transfer.isLeft && !transfer.isCancelled {
            transfers[id]?.isCancelled = true
            steps.append(.cancel(id))
        }
        guard mayHaveLeft, !isInspecting else { return }
        mayHaveLeft = false
        let ids = transfers.filter { $0.value.row != nil && !$0.value.isLeft }.keys.sorted()
        guard !ids.isEmpty else { return }
        isInspecting = true
        steps.append(.inspect(ids))
    }

    /// Has the cache looked at: when it may have changed, and behind each pass.
    private mutating func expire(at now: Duration, _ steps: inout [Step]) {
        guard expiring == nil else { return }
        let pass = lanes.values.map(\.passOver).min() ?? 0
        guard pass > passesOver || expiryMoment.map({ now >= $0 }) == true else { return }
        mayHaveExpired = false
        lastExpiry = now
        expiring = pass
        steps.append(.expire)
    }
}
