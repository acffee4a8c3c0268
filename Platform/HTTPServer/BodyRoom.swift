import PowerSyncSystem

/// The bytes of all bodies that are being read or worked on.
///
/// Bodies take it in steps, as their bytes come: what one merely announces holds up nobody. So that bodies that are half
/// read cannot wait for one another for ever, the oldest may take more than there is; no more than one does at a time,
/// so all together are the room and one body at the most.
final class BodyRoom: Sendable {
    private let line: WaitingLine<BodyRoomRule>

    init(_ total: Int, poller: Poller) {
        line = WaitingLine(BodyRoomRule(total), poller: poller)
    }

    /// How many bodies wait.
    var waiting: Int { line.waiting }

    /// How much is taken.
    var taken: Int { line.read { $0.taken } }

    /// Adds a body, the youngest of all, and returns its name here; `remove` must follow.
    func add() -> UInt64 { line.change { $0.add() } }

    /// Waits for a step of a body.
    func take(_ bytes: Int, for body: UInt64, until deadline: ContinuousClock.Instant) async throws {
        try await line.take(BodyRoomRule.Step(body: body, bytes: bytes), until: deadline)
    }

    /// Gives back what a body did not need.
    func giveBack(_ bytes: Int, of body: UInt64) { line.change { $0.giveBack(bytes, of: body) } }

    /// Gives back all that a body has.
    func remove(_ body: UInt64) { line.change { $0.remove(body) } }
}

/// Which body may take another step.
struct BodyRoomRule: WaitingRule {
    struct Step {
        let body: UInt64
        let bytes: Int
    }

    /// So many of the oldest may fill the room; the others have half of it.
    ///
    /// Else many that come at once would all stand still before their end.
    private static let elders = 4

    private let total: Int
    private(set) var taken = 0
    /// By age: a later one has a higher number.
    private var bodies: [(id: UInt64, bytes: Int)] = []
    private var lastID: UInt64 = 0

    init(_ total: Int) { self.total = total }

    mutating func add() -> UInt64 {
        lastID += 1
        bodies.append((lastID, 0))
        return lastID
    }

    /// Lets older ones go first: they are nearer to their end, and then give back what they have.
    func next(_ steps: [Step]) -> Int? {
        guard let index = steps.indices.min(by: { steps[$0].body < steps[$1].body }) else { return nil }
        // One whose request has been answered meanwhile gets nothing, and need not wait for it.
        guard let age = place(of: steps[index].body), age > 0 else { return index }
        return taken + steps[index].bytes <= (age < Self.elders ? total : total / 2) ? index : nil
    }

    mutating func grant(_ step: Step) { add(step.bytes, to: step.body) }

    mutating func giveBack(_ bytes: Int, of body: UInt64) { add(-bytes, to: body) }

    mutating func remove(_ body: UInt64) {
        guard let place = place(of: body) else { return }
        taken -= bodies.remove(at: place).bytes
    }

    private mutating func add(_ bytes: Int, to body: UInt64) {
        guard let place = place(of: body) else { return }
        taken += bytes
        bodies[place].bytes += bytes
    }

    /// How many are older; nil for one that was removed.
    private func place(of body: UInt64) -> Int? {
        var range = bodies.startIndex..<bodies.endIndex
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if bodies[middle].id < body {
                range = (middle + 1)..<range.upperBound
            } else {
                range = range.lowerBound..<middle
            }
        }
        let place = range.lowerBound
        return place < bodies.endIndex && bodies[place].id == body ? place : nil
    }
}
