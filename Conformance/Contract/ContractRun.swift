import PowerSyncHTTP
import PowerSyncWire

/// Asks cases of a backend.
package struct ContractRun: Sendable {
    private let target: ContractTarget
    private let catalogue: ContractCatalogue

    /// Makes a run.
    ///
    /// - Parameters:
    ///   - target: The backend.
    ///   - catalogue: The cases.
    package init(_ target: ContractTarget, _ catalogue: ContractCatalogue) {
        self.target = target
        self.catalogue = catalogue
    }

    /// Asks one case.
    ///
    /// - Parameter number: Its number.
    /// - Returns: The verdict; what cannot be asked at all is a failure.
    package func run(_ number: CaseNumber) async -> ContractVerdict {
        guard let entry = catalogue[number] else { return .failed("there is no case \(number)") }
        guard entry.level <= target.profile else { return .notApplicable("level \(entry.level.rawValue)") }
        do {
            let session = try await ContractSession(target, level: entry.level)
            for need in entry.needs {
                if let lacking = await session.lacks(need) { return .notApplicable("no \(lacking)") }
            }
            switch entry.driver {
            case .test(let name): return .notApplicable("proved by \(name)")
            case .swift:
                guard let body = SwiftCases.all[number] else {
                    return .failed("there is no code for \(number)")
                }
                return try await body(session)
            case .requests: return try await CaseRun(entry, session).verdict()
            }
        } catch let failure as ContractFailure {
            return .failed(failure.description)
        } catch {
            return .failed("cannot be asked: \(error)")
        }
    }
}

/// Something that a case in Swift requires and that is not so.
package struct ContractFailure: Error, CustomStringConvertible {
    /// What is not so.
    package let description: String

    /// Makes a failure.
    ///
    /// - Parameter description: What is not so.
    package init(_ description: String) { self.description = description }
}

/// One entry of the catalogue at work.
private struct CaseRun {
    private let entry: ContractCase
    private let session: ContractSession

    init(_ entry: ContractCase, _ session: ContractSession) {
        self.entry = entry
        self.session = session
    }

    func verdict() async throws -> ContractVerdict {
        if !entry.readings.isEmpty, session.target.oracle == nil { return .notApplicable("no oracle") }
        if let objection = try await objectionToGiven() { return .failed("given: \(objection)") }
        guard let before = try await look() else { return .notApplicable("nobody can count dead letters") }
        var isAccepted = true
        for (index, (request, expectation)) in zip(entry.requests, entry.expectations).enumerated() {
            let answers: [ContractAnswer]
            do {
                answers = try await session.answers(to: request)
            } catch let error as ContractError {
                throw error
            } catch {
                guard expectation.mayCut else { return .failed("request \(index + 1): no answer: \(error)") }
                continue
            }
            if let objection = try await objection(to: answers, expectation) {
                return .failed("request \(index + 1): \(objection)")
            }
            isAccepted = isAccepted && answers.allSatisfy { $0.status == 200 }
        }
        guard let objection = try await objectionToRows(before) else { return .passed }
        return isAccepted ? .unsafe(objection) : .failed(objection)
    }

    /// Has what must be there before applied.
    private func objectionToGiven() async throws -> String? {
        // An upload of nothing is a mistake.
        guard !entry.given.isEmpty else { return nil }
        for answer in try await session.upload(entry.given, client: "given") {
            guard answer.status == 200 else { return "the answer is \(answer.status)" }
            guard answer.results.allSatisfy({ $0 == "success" }) else { return "\(answer.errorCodes)" }
        }
        return nil
    }

    // MARK: Answers

    private func objection(
        to answers: [ContractAnswer], _ expectation: ContractExpectation
    ) async throws -> String? {
        for answer in answers {
            if answer.status == 0, expectation.mayCut { continue }
            guard expectation.statuses.contains(answer.status) else {
                let text = String(decoding: answer.body.prefix(300), as: UTF8.self)
                return "the answer is \(answer.status), not one of \(expectation.statuses): \(text)"
            }
            if let within = expectation.within, answer.time > within * session.target.patience {
                return "the answer took \(answer.time), not \(within)"
            }
            for member in expectation.fields {
                if let objection = try await objection(to: answer.fields, member) { return objection }
            }
            if let body = expectation.body {
                guard let json = answer.json else { return "the body is no JSON" }
                if let objection = try await session.objection(body, json, at: "body") { return objection }
            }
            let text = answer.wholeText
            for word in expectation.never {
                let word = try await session.text(word)
                if text.contains(word) { return "\(word) stands in the answer" }
            }
        }
        return objection(toVerdictsOf: answers, expectation)
    }

    private func objection(to fields: HTTPFields, _ expected: JSONMember) async throws -> String? {
        let value = fields[expected.name]
        guard let wanted = expected.value.stringValue else {
            return value == nil ? nil : "there is a field \(expected.name)"
        }
        guard let value else { return "there is no field \(expected.name)" }
        if wanted == "*" { return nil }
        let start = try await session.text(wanted)
        return value.hasPrefix(start) ? nil : "\(expected.name) is \(value), not \(start)"
    }

    /// What became of transactions and operations, as far as the profile tells it.
    private func objection(
        toVerdictsOf answers: [ContractAnswer], _ expectation: ContractExpectation
    ) -> String? {
        // Where another status may stand, too, the body is a problem and tells of no operation.
        guard answers.allSatisfy({ $0.status == 200 }) else { return nil }
        // Of dialect A only the superset tells what became of each transaction.
        guard session.target.profile == .l2 || session.level > .l0 else { return nil }
        if let wanted = expectation.results {
            let results = answers.flatMap(\.results)
            guard OutcomeDemand.fits(results, wanted) else { return "results are \(results), not \(wanted)" }
        }
        guard let wanted = expectation.outcomes else { return nil }
        guard session.target.profile == .l2 else {
            let codes = answers.flatMap(\.errorCodes)
            let missing = OutcomeDemand.codes(wanted).filter { !$0.contains { codes.contains($0) } }
            return missing.isEmpty ? nil : "codes are \(codes), not \(missing)"
        }
        let outcomes = answers.flatMap(\.outcomes)
        return OutcomeDemand.fits(outcomes, wanted) ? nil : "outcomes are \(outcomes), not \(wanted)"
    }

    // MARK: Rows

    /// What there was of the readings before the requests.
    private struct Look {
        var rows: [[String: JSON]?] = []
        var letters: [Int] = []
    }

    /// Looks at all that is read; nil where nobody can tell.
    private func look() async throws -> Look? {
        var look = Look()
        for reading in entry.readings {
            switch reading {
            case .row(let row): look.rows.append(try await session.row(row.table, row.id))
            case .letters(_, let user):
                guard let count = try await session.letters(of: user) else { return nil }
                look.letters.append(count)
            }
        }
        return look
    }

    private func objectionToRows(_ before: Look) async throws -> String? {
        guard let now = try await look() else { return "nobody can count dead letters any more" }
        var rows = zip(before.rows, now.rows).makeIterator()
        var letters = zip(before.letters, now.letters).makeIterator()
        for reading in entry.readings {
            switch reading {
            case .row(let row):
                guard let (before, now) = rows.next() else { continue }
                if let objection = try await objection(to: now, before: before, row) { return objection }
            case .letters(let count, let user):
                guard let (before, now) = letters.next(), now - before != count else { continue }
                return "\(user) has \(now - before) dead letters more, not \(count)"
            }
        }
        return nil
    }

    private func objection(
        to row: [String: JSON]?, before: [String: JSON]?, _ expected: ContractReading.Row
    ) async throws -> String? {
        let name = "\(expected.table) \(try await session.text(expected.id))"
        switch expected.state {
        case .absent: return row == nil ? nil : "there is a row \(name)"
        case .unchanged:
            return row == before ? nil : "\(name) has changed"
        case .present(let members):
            guard let row else { return "there is no row \(name)" }
            for member in members {
                let path = name + "/" + member.name
                // Null in the database is null, and not nothing: the column must be there.
                guard let value = row[member.name] else { return "\(path): there is no such column" }
                if let objection = try await session.objection(member.value, value, at: path) {
                    return objection
                }
            }
            for column in expected.untouched where row[column] != before?[column] {
                return "\(name)/\(column) has changed"
            }
            return nil
        }
    }
}

/// Compares what became of operations with what should have.
package enum OutcomeDemand {
    /// Whether each outcome is one of those that are wanted in its place.
    ///
    /// `|` stands between those; one without a code is fitted by any code.
    package static func fits(_ outcomes: [String], _ wanted: [String]) -> Bool {
        outcomes.count == wanted.count
            && zip(outcomes, wanted).allSatisfy { outcome, wanted in
                wanted.split(separator: "|").contains { choice in
                    outcome == choice || outcome.hasPrefix("\(choice) ") && !choice.contains(" ")
                }
            }
    }

    /// The codes with which a transaction must be rejected that has such operations.
    ///
    /// For each of them there are those that may stand in its place.
    package static func codes(_ wanted: [String]) -> [[String]] {
        wanted.compactMap { wanted in
            let choices = wanted.split(separator: "|")
            let codes = choices.compactMap { choice in
                choice.hasPrefix("rejected ") ? String(choice.dropFirst(9)) : nil
            }
            return codes.count == choices.count ? codes : nil
        }
    }
}
