/// How the first wish of the queue is fulfilled, step by step.
extension LifecycleReducer {
    /// Goes on with the first wish as far as it goes.
    mutating func advance() {
        while work == nil, let ticket = queue.first {
            if isStopping {
                guard sync != .ends, !isHeldUp(ticket) else { return }
                isStopping = false
            }
            step(ticket)
        }
    }

    /// Begins the next thing that a wish needs, or fulfils it.
    private mutating func step(_ ticket: LifecycleTicket) {
        guard ticket.wish.isClose || instances[ticket.instance] != nil else { return fulfil(.closed) }
        switch ticket.wish {
        case .open: if isReady(for: ticket) { fulfil(.done) }
        case .connect:
            if let answer = answerIfOvertaken(ticket) { return fulfil(answer) }
            if isReady(for: ticket), hasStopped(for: ticket) { begin(.make(ticket: ticket.id)) }
        case .disconnect: if hasStopped(for: ticket) { fulfil(.done) }
        case .clear:
            if isReady(for: ticket), hasStopped(for: ticket) { begin(.clear(ticket: ticket.id)) }
        case .updateSchema:
            guard isReady(for: ticket) else { return }
            if sync == .none { begin(.applySchema(ticket: ticket.id)) } else { fulfil(.connected) }
        case .close(let deletesFiles): if hasStopped(for: ticket) { close(ticket, deletesFiles) }
        }
    }

    private mutating func close(_ ticket: LifecycleTicket, _ deletesFiles: Bool) {
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
        let endsSync = sync == .runs && owner.map { Self.concerns(ticket, $0) } ?? true
        for (id, call) in calls where Self.concerns(ticket, call.instance) {
            if call.isRunning { calls[id]?.isCancelled = true } else { calls[id] = nil }
        }
        if endsSync {
            sync = .ends
            effects.append(.stopSync)
        }
        isStopping = endsSync || isHeldUp(ticket)
        return !isStopping
    }

    /// Whether a wish is about what an instance has begun: closing is about its own, all others about everything.
    static func concerns(_ ticket: LifecycleTicket, _ instance: Int) -> Bool {
        !ticket.wish.isClose || ticket.instance == instance
    }

    /// Whether a call that is to end goes on, other than one that waits in the queue itself.
    private func isHeldUp(_ ticket: LifecycleTicket) -> Bool {
        calls.values.contains { $0.isCancelled && $0.waits == 0 && Self.concerns(ticket, $0.instance) }
    }

    /// What is told to a wish to connect that a later wish makes pointless.
    private func answerIfOvertaken(_ ticket: LifecycleTicket) -> LifecycleAnswer? {
        for later in queue.dropFirst() {
            switch later.wish {
            case .open: continue
            case .close: if later.instance == ticket.instance { return .closed }
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

    /// Takes in the end of the work that the first wish needed.
    mutating func finish(_ done: LifecycleWork, _ error: (any Error)?) {
        guard let ticket = queue.first else { return }
        switch (done, error) {
        case (.leave, _): instances[ticket.instance] = nil
        case (.closeConnections, _): isOpen = false
        case (.open, let error?), (.prepare, let error?): failOpening(ticket, error)
        case (_, let error?): fulfil(.failed(error))
        case (.open, nil):
            (isOpen, isOpeningCancelled) = (true, false)
            effects.append(.follow)
        case (.prepare, nil): instances[ticket.instance]?.isOpen = true
        case (.make, nil):
            if let answer = answerIfOvertaken(ticket) {
                effects.append(.discardSync)
                fulfil(answer)
            } else {
                (sync, owner) = (.runs, ticket.instance)
                effects.append(.startSync)
                fulfil(.done)
            }
        case (.clear, nil), (.applySchema, nil), (.removeFiles, nil): fulfil(.done)
        }
    }

    /// A failure is everybody's who waited for the same opening; whoever comes later tries again.
    private mutating func failOpening(_ ticket: LifecycleTicket, _ error: any Error) {
        let isAlone = isOpeningCancelled
        isOpeningCancelled = false
        let failed = queue.filter {
            $0.id == ticket.id
                || !isAlone && $0.instance == ticket.instance && $0.wish.needsConnections
        }
        queue.removeAll { failed.contains($0) }
        for ticket in failed { answer(ticket, .failed(error)) }
    }

    private mutating func fulfil(_ answer: LifecycleAnswer) {
        let ticket = queue.removeFirst()
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
