/// Decides, step by step, what becomes of one transaction of an upload; the page is SPEC.md.
///
/// A pure value: whoever drives it does what the phase asks for and says what came of it. What a plan is, it does not know;
/// only that nothing is applied without one.
package struct AttemptMachine<Plan: Sendable>: Sendable {
    /// What is to be done now.
    package enum Phase: Sendable {
        /// Look names up and convert values, with the catalog as it is known.
        case planning
        /// Send the pipeline of the plan.
        case applying(Plan)
        /// Ask the ledger which operations it knows.
        case consulting
        /// Read the catalog again; the refusal is that of a drift, which stands if the catalog does not explain it.
        case looking(Refusal?)
        /// Record the transaction as refused.
        case rejecting(Refusal)
        /// Count a failure that may be the write's own fault, and refuse the write for it once it came too often.
        case counting(Refusal, code: String)
        /// Wait a little before everything is tried again.
        case waiting(code: String)
        /// Nothing: the outcome is known.
        case ended(Ending)
    }

    /// What became of the transaction.
    package enum Ending: Sendable, Hashable {
        /// It is committed.
        case applied
        /// The ledger knew all of it.
        case replayed
        /// It is recorded as refused.
        case rejected
        /// Nothing of it is committed that the ledger does not know: the client is asked to come again.
        case comeAgain(code: String)
        /// The same, for a mistake of the backend.
        case mistake
    }

    /// Where in a pipeline something failed.
    package enum Place: Sendable, Hashable, CaseIterable {
        /// In a statement that wrote several rows.
        case severalRows
        /// In a statement that wrote one row.
        case oneRow
        /// At COMMIT.
        case commit
        /// In a statement of the backend itself.
        case ours
    }

    /// What has happened.
    package enum Event: Sendable {
        /// There is a plan for all that is left.
        case planned(Plan)
        /// An operation will never be accepted.
        case refused(Refusal)
        /// The same, but the catalog that says so was read before the upload arrived, and it may have changed unnoticed.
        case refusedUnseen(Refusal)
        /// A name is missing that was there lately.
        case absent
        /// The pipeline is committed.
        case committed
        /// The ledger has an entry that was not consulted, or may have one.
        case taken
        /// The catalog is not the one of the plan.
        case stale
        /// The user may do nothing any more.
        case disabled
        /// The database failed; the refusal is what it would be recorded as.
        case failed(DatabaseVerdict, Place, Refusal)
        /// The ledger was asked.
        case known(LedgerKnowledge)
        /// The catalog was read again.
        case looked(CatalogLook)
        /// The catalog could not be read.
        case unreadable
        /// The failure was counted.
        case counted(isPoison: Bool)
        /// The wait is over.
        case waited
        /// It was tried often enough.
        case gaveUp
        /// The time of the request is over; the refusal is what the write would be recorded as if it were its own fault.
        case over(othersCommit: Bool, Refusal)
    }

    /// How many of the operations the ledger knows.
    package enum LedgerKnowledge: Sendable, Hashable, CaseIterable {
        /// All of them.
        case all
        /// Some of them.
        case some
        /// None of them.
        case none
    }

    /// What reading the catalog again showed.
    package enum CatalogLook: Sendable, Hashable, CaseIterable {
        /// It is another one.
        case newer
        /// It is the one of the plan.
        case same
        /// It is the one of the plan, and has been for longer than a migration may take.
        case lasting
    }

    /// What is to be done now.
    package private(set) var phase: Phase

    /// Makes a machine.
    ///
    /// - Parameter phase: where it stands; an attempt begins with its plan.
    package init(in phase: Phase = .planning) { self.phase = phase }

    /// Goes on to the next phase.
    ///
    /// - Parameter event: what came of the present one.
    package mutating func advance(_ event: Event) {
        if case .over(let othersCommit, let refusal) = event { return end(othersCommit, refusal) }
        switch phase {
        case .planning: phase = afterPlanning(event)
        case .applying: phase = afterApplying(event)
        case .consulting: phase = afterConsulting(event)
        case .looking(let doubt): phase = afterLooking(event, doubt)
        case .rejecting: phase = afterRejecting(event)
        case .counting(let refusal, let code): phase = afterCounting(event, refusal, code)
        case .waiting(let code):
            switch event {
            case .waited: phase = .planning
            case .gaveUp: phase = .ended(.comeAgain(code: code))
            default: phase = .ended(.mistake)
            }
        case .ended: break
        }
    }

    private mutating func end(_ othersCommit: Bool, _ refusal: Refusal) {
        if case .ended = phase { return }
        // Whether it is the write or the database that is slow, only the uploads of others to its tables tell.
        if othersCommit, case .applying = phase {
            phase = .counting(refusal, code: "TIMEOUT")
        } else {
            phase = .ended(.comeAgain(code: "TIMEOUT"))
        }
    }

    private func afterPlanning(_ event: Event) -> Phase {
        switch event {
        case .planned(let plan): .applying(plan)
        case .refused(let refusal): .rejecting(refusal)
        case .refusedUnseen: .looking(nil)
        case .absent: .ended(.comeAgain(code: "SCHEMA_MISMATCH"))
        case .taken: .consulting
        default: .ended(.mistake)
        }
    }

    private func afterApplying(_ event: Event) -> Phase {
        switch event {
        case .committed: .ended(.applied)
        case .taken: .consulting
        case .stale: .looking(nil)
        case .disabled: .ended(.comeAgain(code: BackendSchema.userDisabledCode))
        case .failed(let verdict, let place, let refusal) where place != .ours:
            switch verdict.kind {
            // Which of the rows it was, only statements of one row tell.
            case .rejected, .drift, .bug: place == .severalRows ? .planning : own(verdict, place, refusal)
            case .suspect: .counting(refusal, code: verdict.code)
            case .retry, .unavailable, .misconfigured: passing(verdict)
            }
        case .failed(let verdict, _, _): passing(verdict)
        default: .ended(.mistake)
        }
    }

    private func own(_ verdict: DatabaseVerdict, _ place: Place, _ refusal: Refusal) -> Phase {
        switch verdict.kind {
        case .rejected: .rejecting(refusal)
        case .drift: .looking(refusal)
        default: .ended(.mistake)
        }
    }

    /// Where a failure leads that says nothing about the write.
    private func passing(_ verdict: DatabaseVerdict) -> Phase {
        switch verdict.kind {
        case .retry: .waiting(code: verdict.code)
        case .unavailable, .misconfigured, .suspect: .ended(.comeAgain(code: verdict.code))
        // A statement of ours names what is not there: somebody changed the schema psb.
        case .drift: .ended(.comeAgain(code: "DATABASE_MISCONFIGURED"))
        case .rejected, .bug: .ended(.mistake)
        }
    }

    private func afterConsulting(_ event: Event) -> Phase {
        switch event {
        case .known(.all): .ended(.replayed)
        case .known: .planning
        case .failed(let verdict, _, _): passing(verdict)
        default: .ended(.mistake)
        }
    }

    private func afterLooking(_ event: Event, _ doubt: Refusal?) -> Phase {
        switch (event, doubt) {
        case (.looked(.newer), _): .planning
        case (.looked(.lasting), let doubt?): .rejecting(doubt)
        case (.looked(.same), .some): .ended(.comeAgain(code: "SCHEMA_MISMATCH"))
        case (.looked, nil): .planning
        case (.unreadable, _): .ended(.comeAgain(code: "DATABASE_UNAVAILABLE"))
        default: .ended(.mistake)
        }
    }

    private func afterRejecting(_ event: Event) -> Phase {
        switch event {
        case .committed: .ended(.rejected)
        case .taken: .consulting
        case .stale: .looking(nil)
        case .disabled: .ended(.comeAgain(code: BackendSchema.userDisabledCode))
        // The verdict is not recorded, so it does not count.
        case .failed(let verdict, _, _): passing(verdict)
        default: .ended(.mistake)
        }
    }

    private func afterCounting(_ event: Event, _ refusal: Refusal, _ code: String) -> Phase {
        switch event {
        case .counted(isPoison: true): .rejecting(refusal)
        case .counted(isPoison: false): .ended(.comeAgain(code: code))
        case .failed(let verdict, _, _):
            // Nothing is tried again only to count it.
            verdict.kind == .retry ? .ended(.comeAgain(code: verdict.code)) : passing(verdict)
        default: .ended(.mistake)
        }
    }
}

extension AttemptMachine.Phase: Equatable where Plan: Equatable {}
