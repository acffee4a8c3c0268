/// How the first wish of the queue is fulfilled, step by step.
extension LifecycleReducer {
    /// Goes on with the first wish as far as it goes; behind the last one syncs what has waited for it.
    mutating func advance() {
        while work == nil, let ticket = queue.first {
            if isStopping {
                guard sync != .ends, !isHeldUp(ticket) else { return }
                isStopping = false
            }
            step(ticket)
        }
        takeOver()
        releaseUnused()
    }

    /// Begins the next thing that a wish needs, or fulfils it.
    private mutating func step(_ ticket: LifecycleTicket) {
        guard ticket.wish.isClose || instances[ticket.instance] != nil else { return fulfil(.closed) }
        switch ticket.wish {
        case .open: if isReady(for: ticket) { fulfil(.done) }
        case .connect:
            if let answer = overtaking(ticket.instance, queue.dropFirst()) { return fulfil(answer) }
            guard isReady(for: ticket), hasStopped(for: ticket) else { return }
            claim = Claim(ticket: ticket.id)
            begin(.claim(ticket: ticket.id))
        case .disconnect: if hasStopped(for: ticket) { fulfil(.done) }
        case .clear:
            guard isReady(for: ticket), hasStopped(for: ticket) else { return }
            claim = Claim(ticket: ticket.id)
            begin(.clear(ticket: ticket.id))
        case .updateSchema:
            guard isReady(for: ticket) else { return }
            if sync == .none { begin(.applySchema(ticket: ticket.id)) } else { fulfil(.connected) }
        case .close(let deletesFiles): if hasStopped(for: ticket) { close(ticket, deletesFiles) }
        }
    }

    private mutating func close(_ ticket: LifecycleTicket, _ deletesFiles: Bool) {
        // Before the watches and the status of the instance end: the last that it shows is that nobody else syncs.
        releaseUnused()
        if instances[ticket.instance] != nil { return begin(.leave(ticket: ticket.id)) }
        let isShared = instances.values.contains(where: \.isOpen)
        if isOpen, !isShared { return begin(.closeConnections) }
        if !deletesFiles { return fulfil(.done) }
        if isShared { fulfil(.inUse) } else { begin(.removeFiles(ticket: ticket.id)) }
    }

    private mutating func isReady(for ticket: LifecycleTicket) -> Bool {
        if !isOpen {
            begin(.open(ticket: ticket.id))
        } else if instances[ticket.instance]?.isOpen != true {
            begin(.prepare(ticket: ticket.id))
        } else {
            return true
        }
        return false
    }

    /// Ends what a wish wants to be over; whether it is.
    private mutating func hasStopped(for ticket: LifecycleTicket) -> Bool {
        let isConcerned = owner.map { Self.concerns(ticket, $0) } ?? true
        if isConcerned {
            switch sync {
            case .none, .ends: break
            case .waits:
                (sync, owner) = (.none, nil)
                endPause()
            case .yields: sync = .ends
            case .runs:
                sync = .ends
                effects.append(.stopSync)
            }
        }
        cancelCalls { Self.concerns(ticket, $0.instance) }
        isStopping = isConcerned && sync == .ends || isHeldUp(ticket)
        return !isStopping
    }

    /// Cancels calls that go on, behind the end of what syncs: what belongs to that is cancelled then, and takes the end
    /// of its calls for no failure.
    private mutating func cancelCalls(where isConcerned: (Call) -> Bool) {
        for (id, call) in calls.sorted(by: { $0.key < $1.key }) where !call.isCancelled && isConcerned(call) {
            if call.isRunning { calls[id]?.isCancelled = true } else { calls[id] = nil }
            effects.append(.cancelCall(id))
        }
    }

    /// Whether a wish is about what an instance has begun: closing is about its own, all others about everything.
    static func concerns(_ ticket: LifecycleTicket, _ instance: Int) -> Bool {
        !ticket.wish.isClose || ticket.instance == instance
    }

    /// Whether a call that is to end goes on, other than one that waits in the queue itself.
    private func isHeldUp(_ ticket: LifecycleTicket) -> Bool {
        calls.values.contains { $0.isCancelled && $0.waits == 0 && Self.concerns(ticket, $0.instance) }
    }

    /// What is told to the wish of an instance to connect that one of the wishes behind it makes pointless.
    private func overtaking(_ instance: Int, _ wishes: ArraySlice<LifecycleTicket>) -> LifecycleAnswer? {
        for later in wishes {
            switch later.wish {
            case .open: continue
            case .close: if later.instance == instance { return .closed }
            // It is refused because of this wish.
            case .updateSchema: return nil
            case .connect, .disconnect, .clear: return .done
            }
        }
        return nil
    }

    private mutating func begin(_ next: LifecycleWork) {
        work = next
        effects.append(.work(next))
    }

    /// Takes in the end of the work that the first wish needed, or that takes over.
    mutating func finish(_ done: LifecycleWork, _ error: (any Error)?) {
        if case .make = done, sync == .waits { return finishTakingOver(error) }
        guard let ticket = queue.first else { return }
        switch (done, error) {
        case (.leave, _): instances[ticket.instance] = nil
        case (.closeConnections, let error):
            isOpen = false
            if let error { fulfil(.failed(error)) }
        case (.open, let error?), (.prepare, let error?): failOpening(ticket, error)
        case (_, let error?): fulfil(.failed(error))
        case (.open, nil): (isOpen, isOpeningCancelled) = (true, false)
        case (.prepare, nil): instances[ticket.instance]?.isOpen = true
        case (.claim, nil): begin(.make(ticket: ticket.id))
        case (.make, nil):
            if let answer = overtaking(ticket.instance, queue.dropFirst()) {
                effects.append(.discardSync)
                fulfil(answer)
            } else if claim?.holder == .another {
                effects.append(.discardSync)
                wait(for: ticket)
            } else {
                start(for: ticket.instance)
                fulfil(.done)
            }
        case (.clear, nil), (.applySchema, nil), (.removeFiles, nil): fulfil(.done)
        }
    }

    private mutating func start(for instance: Int) {
        (sync, owner) = (.runs, instance)
        effects.append(.startSync)
    }

    /// A failure is everybody's who waited for the same opening; whoever comes later tries again.
    private mutating func failOpening(_ ticket: LifecycleTicket, _ error: any Error) {
        let isAlone = isOpeningCancelled
        (isOpeningCancelled, isFirstAbandoned) = (false, false)
        let failed = queue.filter {
            $0.id == ticket.id
                || !isAlone && $0.instance == ticket.instance && $0.wish.needsConnections
        }
        queue.removeAll { failed.contains($0) }
        for ticket in failed { answer(ticket, .failed(error)) }
    }

    private mutating func fulfil(_ answer: LifecycleAnswer) {
        let ticket = queue.removeFirst()
        isFirstAbandoned = false
        var left: Set<Int> = []
        if case .done = answer, ticket.wish.endsCalls {
            left = Set(
                calls.filter {
                    $0.key != ticket.call && $0.value.isCancelled && Self.concerns(ticket, $0.value.instance)
                }.keys)
        }
        fulfilled.append(Fulfilment(ticket: ticket, answer: answer, calls: left))
    }
}

// MARK: The right to sync

extension LifecycleReducer {
    /// Takes in who has the right that the first wish claims.
    mutating func finishClaim(_ holder: SyncLock.Holder) {
        guard let ticket = queue.first else { return }
        // What was heard meanwhile is newer.
        let now = claim?.holder ?? holder
        claim?.holder = now
        if let answer = overtaking(ticket.instance, queue.dropFirst()) { return fulfil(answer) }
        switch now {
        case .us: begin(.make(ticket: ticket.id))
        case .another: wait(for: ticket)
        }
    }

    /// Leaves syncing to another process, which is as good as connecting.
    private mutating func wait(for ticket: LifecycleTicket) {
        (sync, owner) = (.waits, ticket.instance)
        effects.append(.showElsewhere)
        fulfil(.done)
    }

    /// Takes in who has the right now; what syncs without it ends at once, whatever the first wish is.
    mutating func changeHolder(to holder: SyncLock.Holder) {
        claim?.holder = holder
        guard holder == .another, sync == .runs else { return }
        sync = .yields
        effects.append(.stopSync)
        cancelCalls { _ in true }
    }

    /// Takes in the end of what syncs.
    mutating func endSync() {
        switch sync {
        case .none, .waits: break
        case .runs, .ends: (sync, owner) = (.none, nil)
        case .yields:
            sync = .waits
            effects.append(.showElsewhere)
        }
    }

    /// Begins to sync in place of a process that does not any more, once no wish is worked on.
    private mutating func takeOver() {
        guard work == nil, queue.isEmpty, sync == .waits, pause == nil, let claim, claim.holder == .us else {
            return
        }
        begin(.make(ticket: claim.ticket))
    }

    private mutating func finishTakingOver(_ error: (any Error)?) {
        guard let owner else { return }
        if let error {
            effects.append(.tellFailure(error))
            if error is ClearedElsewhere { (sync, self.owner) = (.none, nil) } else { startPause() }
        } else if claim?.holder == .another || overtaking(owner, queue[...]) != nil {
            effects.append(.discardSync)
        } else {
            start(for: owner)
        }
    }

    /// Gives the right to sync, or the wait for it, up once nothing needs it, calls that somebody waits for included;
    /// connecting again hands nothing over.
    private mutating func releaseUnused() {
        guard claim != nil, sync == .none, !isStopping, !fulfilled.contains(where: { isLate($0) }),
            !queue.contains(where: isHeldUp)
        else { return }
        switch work {
        case .claim, .make, .clear: return
        default: break
        }
        claim = nil
        effects.append(.release)
    }
}
