/// Decides what becomes of a database file; see LIFECYCLE.md in this folder for states, events and the table.
///
/// A value without I/O or clock. What instances wish waits in one queue; the first wish alone is worked on, and each
/// piece of work reports its end as an event.
struct LifecycleReducer: Sendable {
    /// Where the file is.
    enum Phase: String, Sendable, CaseIterable {
        case closed, opening, open, connecting, syncing, elsewhere, stopping
    }

    struct Instance {
        var isOpen = false
        var isClosing = false
    }

    enum Sync {
        case none
        /// Another process syncs the file; once it does not, this one is to.
        case waits
        case runs
        /// As `ends`, but to wait then: another process has the right to sync now.
        case yields
        case ends
    }

    /// The right to sync, or the wait for it.
    struct Claim {
        /// The wish that made it.
        let ticket: Int
        /// Who has the right; nil until that is known.
        var holder: SyncLock.Holder?
    }

    struct Call {
        let instance: Int
        let isUpload: Bool
        var isRunning = false
        /// Whether it is to end.
        var isCancelled = false
        /// How many wishes it waits for.
        var waits = 0
        /// The number of the time that it is given; nil while nobody waits for it.
        var patience: Int?
    }

    /// A wish that is fulfilled, but for calls whose end was promised.
    struct Fulfilment {
        let ticket: LifecycleTicket
        let answer: LifecycleAnswer
        let calls: Set<Int>
    }

    var instances: [Int: Instance] = [:]
    /// The first wish is the one that is worked on.
    var queue: [LifecycleTicket] = []
    var work: LifecycleWork?
    var isOpen = false
    var isOpeningCancelled = false
    /// Whether the first wish is one to open whose caller does not wait any more.
    var isFirstAbandoned = false
    var sync = Sync.none
    var owner: Int?
    var claim: Claim?
    var isStopping = false
    /// The number of the pause before what waited tries to sync again; nil unless it has failed to.
    var pause: Int?
    private var lastPause = 0
    var calls: [Int: Call] = [:]
    var fulfilled: [Fulfilment] = []
    private var lastPatience = 0
    var effects: [LifecycleEffect] = []

    var phase: Phase {
        if isStopping || sync == .yields { return .stopping }
        switch work {
        case .open: return .opening
        case .claim, .make: return .connecting
        default: break
        }
        switch sync {
        case .runs: return .syncing
        case .waits: return .elsewhere
        case .none, .yields, .ends: return isOpen ? .open : .closed
        }
    }

    /// Whether something syncs, and is to go on.
    var isSyncing: Bool { sync == .runs }

    /// Whether what is to sync has waited for another process.
    var hasWaited: Bool { sync == .waits }

    /// How many wishes wait to be fulfilled, the one that is worked on included.
    var waitingCount: Int { queue.count }

    /// Whether nothing is open, under way or waited for.
    var isAtRest: Bool {
        !isOpen && work == nil && sync == .none && queue.isEmpty && calls.isEmpty && fulfilled.isEmpty
    }

    /// Whether an instance is closed, or has asked for it.
    func isClosing(_ instance: Int) -> Bool { instances[instance]?.isClosing ?? true }

    /// Takes in one event; returns what to do, in this order.
    mutating func reduce(_ event: LifecycleEvent) -> [LifecycleEffect] {
        switch event {
        case .joined(let instance): instances[instance] = Instance()
        case .dropped(let instance, let ticket):
            // Others that are open close the connections themselves.
            if instances.removeValue(forKey: instance) != nil, isOpen {
                queue.append(
                    LifecycleTicket(id: ticket, wish: .close(deletingFiles: false), instance: instance))
            }
        case .wished(let ticket): receive(ticket)
        case .abandoned(let id): abandon(id)
        case .finished(let error): if let done = work.take() { finish(done, error) }
        case .claimed(let holder):
            if case .claim = work {
                work = nil
                finishClaim(holder)
            }
        case .holderChanged(let holder, let ticket): if claim?.ticket == ticket { changeHolder(to: holder) }
        case .syncEnded: endSync()
        case .pauseOver(let number): if pause == number { pause = nil }
        case .called(let id, let kind, let instance, let connection):
            if sync == .runs, claim?.ticket == connection {
                calls[id] = Call(instance: instance, isUpload: kind == .uploadData)
            } else {
                // Whoever called need not end with what syncs: it may be the app that asks for a checkpoint.
                effects.append(.cancelCall(id))
            }
        case .callEnded(let id):
            if calls.removeValue(forKey: id)?.patience != nil { effects.append(.endPatience(call: id)) }
        case .patienceOver(let id, let number):
            if calls[id]?.patience == number {
                calls[id] = nil
                effects.append(.cutOff(call: id))
            }
        }
        advance()
        settle()
        defer { effects = [] }
        return effects
    }

    // MARK: Wishes that come and go

    private mutating func receive(_ ticket: LifecycleTicket) {
        if let call = ticket.call { calls[call]?.waits += 1 }
        if case .close(let deletesFiles) = ticket.wish {
            let isShared = instances.contains { $0.key != ticket.instance && !$0.value.isClosing }
            if deletesFiles, isShared { return answer(ticket, .inUse) }
            instances[ticket.instance]?.isClosing = true
        } else if isClosing(ticket.instance) {
            return answer(ticket, .closed)
        }
        queue.append(ticket)
    }

    private mutating func abandon(_ id: Int) {
        if let index = fulfilled.firstIndex(where: { $0.ticket.id == id }) {
            let done = fulfilled.remove(at: index)
            return answer(done.ticket, done.answer)
        }
        guard let index = queue.firstIndex(where: { $0.id == id }) else { return }
        // Nobody in the call waits now: it is one that runs, again.
        if let call = queue[index].call.take() { calls[call]?.waits -= 1 }
        if queue[index].wish == .open {
            if index == 0 {
                isFirstAbandoned = true
            } else {
                let ticket = queue.remove(at: index)
                answer(ticket, .failed(CancellationError()))
            }
        }
        guard case .open = work, isFirstAbandoned, !isOpeningCancelled,
            !queue.dropFirst().contains(where: \.wish.needsConnections)
        else { return }
        isOpeningCancelled = true
        effects.append(.cancelOpening)
    }

    /// Begins the pause before another try to sync in place of a process that does not any more.
    mutating func startPause() {
        lastPause += 1
        pause = lastPause
        effects.append(.startPause(number: lastPause))
    }

    /// Ends the pause, whatever comes.
    mutating func endPause() {
        if pause.take() != nil { effects.append(.endPause) }
    }

    mutating func answer(_ ticket: LifecycleTicket, _ answer: LifecycleAnswer) {
        effects.append(.answer(ticket: ticket.id, answer))
        if let call = ticket.call { calls[call]?.waits -= 1 }
    }

    // MARK: What follows from it

    private mutating func settle() {
        while let index = fulfilled.firstIndex(where: { !isLate($0) }) {
            let done = fulfilled.remove(at: index)
            answer(done.ticket, done.answer)
        }
        for id in calls.keys.sorted() where calls[id]?.isRunning == false {
            // One upload at a time, also while an old one takes its time to end.
            if calls[id]?.isUpload == true, calls.values.contains(where: { $0.isUpload && $0.isRunning }) {
                continue
            }
            calls[id]?.isRunning = true
            effects.append(.startCall(id))
        }
        for id in calls.keys.sorted() {
            let isDelaying = isWaitedFor(id)
            guard isDelaying != (calls[id]?.patience != nil) else { continue }
            if isDelaying {
                lastPatience += 1
                calls[id]?.patience = lastPatience
                effects.append(.startPatience(call: id, number: lastPatience))
            } else {
                calls[id]?.patience = nil
                effects.append(.endPatience(call: id))
            }
        }
    }

    /// Whether the answer to a wish has to wait: calls that themselves wait for a wish hold up only those from outside.
    func isLate(_ done: Fulfilment) -> Bool {
        done.calls.contains { id in
            calls[id].map { done.ticket.call == nil || $0.waits == 0 } ?? false
        }
    }

    private func isWaitedFor(_ id: Int) -> Bool {
        guard let call = calls[id], call.isCancelled, call.waits == 0 else { return false }
        if isStopping, let ticket = queue.first, Self.concerns(ticket, call.instance) { return true }
        if fulfilled.contains(where: { $0.calls.contains(id) }) { return true }
        return call.isUpload && calls.values.contains { $0.isUpload && !$0.isRunning }
    }
}
