import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Random histories of a file: the invariants of Client/Database/LIFECYCLE.md hold after every event.
@Suite(.patient(), .namesSeed) struct LifecycleRandomTests {
    @Test func everyHistoryKeepsTheInvariantsAndAnswersEveryWish() async throws {
        try await forEachSeed(2000) { random in
            var world = LifecycleWorld(instances: 1 + random.below(3))
            for _ in 0..<(5 + random.below(60)) { world.takePart(&random) }
            world.comeToAnEnd(&random)
            #expect(world.problems.isEmpty)
        }
    }
}

/// What the loop stands for: it does what the reducer says, in any order that can happen, and holds it to its promises.
private struct LifecycleWorld {
    private struct Call {
        let isUpload: Bool
        let instance: Int
        /// Whether it ends only when it is cut off, or the world does.
        let isDeaf: Bool
        var isRunning = false
        var isCancelled = false
        var isOver = false
        var isCutOff = false
    }

    private(set) var problems: [String] = []
    private var reducer = LifecycleReducer()
    private let instances: Int
    private var lastID = 0
    private var tickets: [Int: LifecycleTicket] = [:]
    private var waiting: Set<Int> = []
    private var abandoned: Set<Int> = []
    private var closed: Set<Int> = []
    private var calls: [Int: Call] = [:]
    private var timers: [Int: Int] = [:]
    private var pause: Int?
    private var work: LifecycleWork?
    private var isOpeningCancelled = false
    private var isOpen = false
    private var made: Int?
    private var running: (instance: Int, isEnding: Bool)?
    // The right to sync, as the system knows it.
    private var isAnothers = false
    private var isOurs = false
    /// The wish whose claim counts; nil once it was given up.
    private var claim: Int?
    /// Who had the right when it was claimed.
    private var found = SyncLock.Holder.us
    /// What the claim tells next, each time that the holder is another one.
    private var news: [SyncLock.Holder] = []
    /// What the reducer knows of the claim.
    private var known: SyncLock.Holder?
    private var isShownElsewhere = false
    private var hasReleased = false

    init(instances: Int) {
        self.instances = instances
        for instance in 1...instances { handle(.joined(instance: instance)) }
    }

    // MARK: What happens

    /// Lets one thing happen, wishes of the app more often than anything else.
    mutating func takePart(_ random: inout SeededRandom) {
        switch random.below(9) {
        case 0..<3: wish(&random, call: nil)
        case 3:
            let callers = calls.filter { $0.value.isRunning && !$0.value.isOver }.keys.sorted()
            guard !callers.isEmpty else { return }
            let caller = random.pick(callers)
            wish(&random, call: caller)
        case 4:
            let candidates = waiting.subtracting(abandoned).sorted()
            guard !candidates.isEmpty else { return }
            let id = random.pick(candidates)
            abandoned.insert(id)
            handle(.abandoned(ticket: id))
        case 5: call(&random)
        case 6: moveAnother(&random)
        default: _ = goOn(&random)
        }
    }

    /// Lets the connector be called: by what syncs, or at any time by the app, which has asked for a checkpoint.
    private mutating func call(_ random: inout SeededRandom) {
        let isSyncing = running?.isEnding == false
        // No wish has the number 0.
        let connection = random.once(in: 4) ? 0 : claim ?? 0
        let isCurrent = isSyncing && connection == claim
        let isUpload = isCurrent && random.once(in: 2)
        // An uploader makes one call after the other.
        if isUpload, calls.values.contains(where: { $0.isUpload && !$0.isRunning && !$0.isOver }) { return }
        lastID += 1
        let instance = running?.instance ?? 1 + random.below(instances)
        calls[lastID] = Call(isUpload: isUpload, instance: instance, isDeaf: random.once(in: 3))
        let kind = isUpload ? ConnectorCall.Kind.uploadData : .postCheckpointRequest
        handle(.called(lastID, kind, instance: instance, connection: connection))
        require(isCurrent || calls[lastID]?.isOver == true, "a call begins for what does not sync")
    }

    /// Lets another process take the right to sync, or give it up.
    private mutating func moveAnother(_ random: inout SeededRandom) {
        if isAnothers {
            isAnothers = false
            if claim != nil, !isOurs {
                isOurs = true
                news.append(.us)
            }
        } else if !isOurs || random.once(in: 2) {
            // What is ours it takes by replacing the file.
            isAnothers = true
            if claim != nil, isOurs { news.append(.another) }
            isOurs = false
        }
    }

    /// Lets all that is under way come to its end.
    mutating func comeToAnEnd(_ random: inout SeededRandom) {
        for instance in 1...instances {
            lastID += 1
            send(LifecycleTicket(id: lastID, wish: .close(deletingFiles: false), instance: instance))
        }
        var left = 10_000
        while left > 0, goOn(&random) { left -= 1 }
        // What nobody waits for ends when it likes.
        let forgotten = calls.filter { $0.value.isRunning && !$0.value.isOver && !$0.value.isCutOff }
        for id in forgotten.keys.sorted() {
            calls[id]?.isOver = true
            handle(.callEnded(id))
        }
        require(waiting.isEmpty, "wishes \(waiting.sorted()) are not answered")
        let parked = calls.filter { !$0.value.isRunning && !$0.value.isOver }.keys.sorted()
        require(parked.isEmpty, "whoever made the calls \(parked) is not answered")
        require(reducer.isAtRest && reducer.phase == .closed, "it does not come to rest")
        require(!isOpen && running == nil && timers.isEmpty && pause == nil, "something is left")
        require(claim == nil && !isShownElsewhere, "the right to sync is not given up")
    }

    private mutating func wish(_ random: inout SeededRandom, call: Int?) {
        let wishes: [LifecycleWish] = [
            .open, .connect, .connect, .disconnect, .clear, .updateSchema, .close(deletingFiles: false),
            .close(deletingFiles: true),
        ]
        lastID += 1
        send(
            LifecycleTicket(
                id: lastID, wish: random.pick(wishes), instance: 1 + random.below(instances), call: call))
    }

    private mutating func send(_ ticket: LifecycleTicket) {
        tickets[ticket.id] = ticket
        waiting.insert(ticket.id)
        handle(.wished(ticket))
    }

    /// Lets one thing end that is under way; false if there is none.
    private mutating func goOn(_ random: inout SeededRandom) -> Bool {
        var ends: [LifecycleEvent] = []
        if work != nil { ends.append(.finished(random.once(in: 6) ? TestError(text: "no") : nil)) }
        if running?.isEnding == true { ends.append(.syncEnded) }
        for (id, call) in calls.sorted(by: { $0.key < $1.key })
        where call.isRunning && !call.isOver && !call.isDeaf && !waits(id) { ends.append(.callEnded(id)) }
        for (id, number) in timers.sorted(by: { $0.key < $1.key }) {
            ends.append(.patienceOver(call: id, number: number))
        }
        if let pause { ends.append(.pauseOver(number: pause)) }
        if let claim, let next = news.first { ends.append(.holderChanged(next, ticket: claim)) }
        guard !ends.isEmpty else { return false }
        var event = random.pick(ends)
        switch event {
        case .finished(let error):
            if case .claim = work {
                known = known ?? found
                event = .claimed(found)
            } else {
                let fails =
                    (error != nil && canFail) || (isOpeningCancelled && !random.once(in: 4))
                    || (isClearing && found == .another)
                if !fails { succeed() }
                // Only what has waited finds that another process has cleared.
                let isCleared = isMaking && isShownElsewhere && random.once(in: 3)
                let error: any Error = isCleared ? ClearedElsewhere() : TestError(text: "no")
                event = .finished(fails ? error : nil)
            }
            (work, isOpeningCancelled) = (nil, false)
        case .holderChanged: known = news.removeFirst()
        case .pauseOver: pause = nil
        case .syncEnded: running = nil
        case .callEnded(let id): calls[id]?.isOver = true
        default: break
        }
        handle(event)
        return true
    }

    private var isMaking: Bool { if case .make = work { true } else { false } }

    private var isClearing: Bool { if case .clear = work { true } else { false } }

    private var canFail: Bool {
        switch work {
        case .leave, .closeConnections, nil: false
        default: true
        }
    }

    private mutating func succeed() {
        switch work {
        case .open: isOpen = true
        case .closeConnections: isOpen = false
        case .make(let ticket): made = tickets[ticket]?.instance
        default: break
        }
    }

    private func waits(_ call: Int) -> Bool {
        waiting.contains { tickets[$0]?.call == call && !abandoned.contains($0) }
    }

    // MARK: What is to be done

    private mutating func handle(_ event: LifecycleEvent) {
        hasReleased = false
        for effect in reducer.reduce(event) { perform(effect) }
        require(timers.keys.allSatisfy { calls[$0]?.isCutOff == false }, "a call has time that is cut off")
        require(!hasReleased || timers.isEmpty, "the right is given up while a call is waited for")
        if let running, !running.isEnding {
            require(known == .us, "it syncs without the right")
            require(!isShownElsewhere, "it syncs, and shows that another process does")
        } else {
            let goesOn = calls.values.contains { $0.isRunning && !$0.isOver && !$0.isCancelled }
            require(!goesOn, "nothing syncs, and a call goes on that nobody has cancelled")
        }
        if reducer.phase == .elsewhere {
            require(isShownElsewhere, "it does not show that another process syncs")
            require(known == .another || work != nil || pause != nil, "nobody takes over")
        }
    }

    private mutating func require(_ condition: Bool, _ problem: String) {
        if !condition { problems.append(problem) }
    }

    private mutating func perform(_ effect: LifecycleEffect) {
        switch effect {
        case .work(let next): begin(next)
        case .cancelOpening: isOpeningCancelled = true
        case .startSync:
            isShownElsewhere = false
            require(running == nil, "two coordinators run")
            require(made.map { !closed.contains($0) } == true, "syncs for an instance that is closed")
            running = made.map { (instance: $0, isEnding: false) }
            made = nil
        case .discardSync: made = nil
        case .showElsewhere: isShownElsewhere = true
        case .release:
            require(claim != nil, "gives up what it has not")
            require(running == nil, "gives the right up while something syncs")
            (claim, known, news) = (nil, nil, [])
            (isOurs, isShownElsewhere, hasReleased) = (false, false, true)
        case .tellFailure: require(isShownElsewhere, "tells a failure that somebody waits for")
        case .startPause(let number):
            require(pause == nil, "two pauses at once")
            pause = number
        case .endPause:
            require(pause != nil, "ends no pause")
            pause = nil
        case .stopSync: running?.isEnding = true
        case .startCall(let id):
            let others = calls.values.contains {
                $0.isUpload && $0.isRunning && !$0.isOver && !$0.isCutOff
            }
            require(calls[id]?.isUpload == false || !others, "two uploads run")
            calls[id]?.isRunning = true
        case .cancelCall(let id):
            require(calls[id]?.isCancelled == false, "call \(id) is cancelled twice")
            require(
                running?.isEnding != false || calls[id]?.isRunning == false,
                "call \(id) is cancelled while syncing goes on")
            calls[id]?.isCancelled = true
            // Those that have not begun never do.
            if calls[id]?.isRunning == false { calls[id]?.isOver = true }
        case .startPatience(let id, let number):
            require(calls[id]?.isCancelled == true, "call \(id) is waited for and not cancelled")
            timers[id] = number
        case .endPatience(let id): timers[id] = nil
        case .cutOff(let id):
            timers[id] = nil
            calls[id]?.isCutOff = true
        case .answer(let id, let answer): take(answer, of: id)
        }
    }

    private mutating func begin(_ next: LifecycleWork) {
        require(work == nil, "\(next) begins during \(String(describing: work))")
        work = next
        var needsRest = true
        switch next {
        case .open(let ticket):
            needsRest = false
            let isClosed = tickets[ticket].map { closed.contains($0.instance) } ?? true
            require(!isClosed, "opens for an instance that is closed")
            require(!isOpen, "opens what is open")
        case .leave, .prepare: needsRest = false
        case .removeFiles: require(!isOpen, "removes what is open")
        case .claim, .make, .clear, .applySchema, .closeConnections:
            require(isOpen, "\(next) without connections")
        }
        switch next {
        case .claim(let ticket), .clear(let ticket):
            (claim, known, news) = (ticket, nil, [])
            isOurs = !isAnothers
            found = isOurs ? .us : .another
        default: break
        }
        if needsRest { require(running == nil, "\(next) while something syncs") }
        if case .clear = next {
            for (id, call) in calls where call.isRunning && !call.isOver && !call.isCutOff {
                require(waits(id), "call \(id) goes on while rows are cleared")
            }
        }
    }

    private mutating func take(_ answer: LifecycleAnswer, of id: Int) {
        require(waiting.remove(id) != nil, "wish \(id) is answered twice")
        guard case .done = answer, let ticket = tickets[id], ticket.wish.outlivesItsCaller else { return }
        if ticket.wish.isClose { closed.insert(ticket.instance) }
        if abandoned.contains(id) { return }
        for (number, call) in calls
        where number < id && number != ticket.call && call.isRunning && !call.isOver && !call.isCutOff {
            if ticket.wish.isClose, call.instance != ticket.instance { continue }
            require(
                ticket.call != nil && waits(number), "wish \(id) is fulfilled while call \(number) goes on")
        }
    }
}
