import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// What is transferred when (Client/Attachments/SPEC.md, "Transfers").
@Suite(.namesSeed)
struct TransferPlanTests {
    /// A plan, with steps as texts; the cache is always within its limit, and rows stay in their lanes unless the test says
    /// another one.
    private struct Bench {
        var plan: TransferPlan
        var now = Duration.zero
        /// The lanes of the rows that were begun, as they are now.
        var lanes: [String: TransferLane] = [:]

        init(mostAtOnce: Int = 1, throttle: Duration = .zero, pageSize: Int = 2) {
            plan = TransferPlan(mostAtOnce: mostAtOnce, throttle: throttle, pageSize: pageSize)
            plan.setMayTransfer(true)
        }

        mutating func steps() -> [String] {
            var texts: [String] = []
            for step in plan.steps(at: now) {
                switch step {
                case .expire: plan.didExpire()
                case .inspect(let ids): plan.didInspect(lanes, of: ids)
                case .begin(let row):
                    lanes[row.id] = row.lane
                    texts.append(step.text)
                default: texts.append(step.text)
                }
            }
            return texts
        }

        /// Gives the rows of a lane, and none for all others that are read.
        mutating func read(_ lane: TransferLane, _ ids: [String]) {
            for other in TransferLane.allCases where other != lane { plan.didRead([], of: other) }
            plan.didRead(ids.map { Self.row($0, lane) }, of: lane)
        }

        /// The ids end with the number that is their time.
        static func row(_ id: String, _ lane: TransferLane) -> TransferRow {
            TransferRow(id: id, timestamp: Int(id.drop { !$0.isNumber }) ?? 0, lane: lane)
        }
    }

    @Test func nothingIsBegunByWhoMayNotTransfer() {
        var plan = TransferPlan(mostAtOnce: 1, throttle: .zero)
        plan.askForPass()
        plan.rowsChanged()
        #expect(plan.steps(at: .zero) == [])
        #expect(plan.passMoment == nil)
        plan.setMayTransfer(true)
        #expect(plan.passMoment == .zero)
        let steps = plan.steps(at: .zero).map(\.text)
        #expect(
            steps == [
                "restart upload", "read upload", "restart download", "read download", "restart delete",
                "read delete", "expire",
            ])
    }

    @Test func aLaneTakesItsRowsInOrderAPageAtATime() {
        var bench = Bench()
        #expect(bench.steps().contains("read upload"))
        bench.read(.upload, ["a1", "a2"])
        #expect(bench.steps() == ["begin upload a1"])
        #expect(bench.steps() == [], "one at a time")
        bench.plan.ended("a1", .over)
        #expect(bench.steps() == ["begin upload a2"])
        bench.plan.ended("a2", .over)
        // More is read once there is a place for it.
        #expect(bench.steps() == ["read upload behind a2"])
        bench.read(.upload, ["a3"])
        #expect(bench.steps() == ["begin upload a3"])
        bench.plan.ended("a3", .over)
        #expect(bench.steps() == [])
    }

    @Test func lanesDoNotWaitForEachOther() {
        var bench = Bench()
        _ = bench.steps()
        for (lane, id) in zip(TransferLane.allCases, ["u1", "d1", "x1"]) {
            bench.plan.didRead([Bench.row(id, lane)], of: lane)
        }
        #expect(bench.steps() == ["begin upload u1", "begin download d1", "begin delete x1"])
        bench.plan.ended("d1", .over)
        #expect(bench.steps() == [], "the two others hang, and nothing is left for this one")
        bench.plan.rowsChanged()
        #expect(bench.steps() == ["read download behind d1"])
        bench.read(.download, ["d2"])
        #expect(bench.steps() == ["begin download d2"])
    }

    @Test(arguments: [1, 2, 3, 64]) func asManyGoAtOnceAsMay(_ most: Int) {
        var bench = Bench(mostAtOnce: most, pageSize: 64)
        _ = bench.steps()
        bench.read(.download, (1...10).map { "a\($0)" })
        #expect(bench.steps() == (1...min(most, 10)).map { "begin download a\($0)" })
        bench.plan.ended("a1", .over)
        #expect(bench.steps() == (most < 10 ? ["begin download a\(most + 1)"] : []))
    }

    @Test func aFailedRowWaitsForTheNextPassAndKeepsNobodyWaiting() {
        var bench = Bench()
        _ = bench.steps()
        bench.read(.upload, ["a1", "a2"])
        #expect(bench.steps() == ["begin upload a1"])
        bench.plan.ended("a1", .over)
        // Asked for in the midst of a pass: in its lane that one comes to its end first.
        bench.plan.askForPass()
        let steps = bench.steps()
        #expect(steps.first == "begin upload a2")
        #expect(steps.contains("restart download") && !steps.contains("restart upload"))
        bench.plan.ended("a2", .over)
        bench.read(.download, [])
        #expect(bench.steps() == ["read upload behind a2"])
        bench.read(.upload, [])
        #expect(bench.steps() == ["restart upload", "read upload"])
        bench.read(.upload, ["a1"])
        #expect(bench.steps() == ["begin upload a1"])
    }

    @Test func aChangeLetsLanesLookBehindWhatTheyHaveSeen() {
        var bench = Bench()
        _ = bench.steps()
        bench.read(.upload, ["a1"])
        _ = bench.steps()
        bench.plan.ended("a1", .over)
        #expect(bench.steps() == [])
        bench.plan.rowsChanged()
        #expect(bench.steps() == ["read upload behind a1", "read download", "read delete"])
    }

    @Test func aChangeWhileRowsAreReadIsNotLost() {
        var bench = Bench()
        _ = bench.steps()
        bench.plan.rowsChanged()
        bench.read(.upload, [])
        #expect(bench.steps() == ["read upload", "read download", "read delete"])
    }

    @Test func passesBeginAsFarApartAsTheThrottleSays() {
        var bench = Bench(throttle: .seconds(5))
        #expect(bench.plan.passMoment == .zero)
        _ = bench.steps()
        bench.read(.upload, [])
        #expect(bench.steps() == [])
        bench.now = .seconds(1)
        for _ in 0..<3 { bench.plan.askForPass() }
        #expect(bench.plan.passMoment == .seconds(5))
        #expect(bench.steps() == [])
        // What is new is no pass.
        bench.plan.rowsChanged()
        #expect(bench.steps() == ["read upload", "read download", "read delete"])
        bench.read(.upload, [])
        bench.now = .seconds(5)
        #expect(bench.steps().filter { $0.hasPrefix("restart") }.count == 3)
        #expect(bench.plan.passMoment == nil, "three wishes are one pass")
    }

    @Test func aRowThatIsToBeDeletedHasItsTransferCancelledAndIsDeletedBehindIt() {
        var bench = Bench()
        _ = bench.steps()
        bench.read(.download, ["a1"])
        #expect(bench.steps() == ["begin download a1"])
        bench.plan.rowsChanged()
        bench.lanes["a1"] = .delete
        #expect(bench.steps() == ["read upload", "read delete"])
        bench.read(.delete, ["a1"])
        #expect(bench.steps() == ["cancel a1"])
        bench.plan.rowsChanged()
        _ = bench.steps()
        bench.read(.delete, ["a1"])
        #expect(bench.steps() == [], "once is enough")
        bench.plan.ended("a1", .over)
        #expect(bench.steps() == ["look a1", "read download behind a1"])
        bench.plan.didLook(Bench.row("a1", .delete))
        bench.read(.download, [])
        #expect(bench.steps() == ["begin delete a1"])
        bench.plan.ended("a1", .over)
        #expect(bench.steps() == [])
    }

    /// Archived, for example, or gone.
    @Test func aRowThatWaitsForNothingAnyMoreHasItsTransferCancelled() {
        var bench = Bench(mostAtOnce: 2)
        _ = bench.steps()
        bench.read(.download, ["a1", "a2"])
        _ = bench.steps()
        bench.plan.rowsChanged()
        bench.lanes["a1"] = nil
        _ = bench.steps()
        bench.read(.upload, [])
        #expect(bench.steps() == ["cancel a1"])
        // It is wanted again before that has ended: under another time.
        bench.plan.ended("a2", .over)
        bench.plan.rowsChanged()
        #expect(bench.steps().contains("read download behind a2"))
        bench.plan.didRead([TransferRow(id: "a1", timestamp: 3, lane: .download)], of: .download)
        bench.read(.upload, [])
        #expect(bench.steps() == [])
        bench.plan.ended("a1", .over)
        #expect(bench.steps() == ["look a1"])
        bench.plan.didLook(TransferRow(id: "a1", timestamp: 3, lane: .download))
        #expect(bench.steps() == ["begin download a1"])
    }

    /// Such as an upload that ignores its cancellation: what it does comes before what is done next with the row.
    @Test func whatAnEarlierRunHasLeftIsNotTouchedBeforeItsEnd() {
        var bench = Bench()
        bench.plan.leave(["a1"])
        _ = bench.steps()
        bench.read(.delete, ["a1", "a2"])
        #expect(bench.steps() == ["begin delete a2"], "it takes nobody's place")
        bench.plan.ended("a2", .over)
        #expect(bench.steps() == ["read delete behind a2"])
        bench.read(.delete, [])
        #expect(bench.steps() == [])
        #expect(bench.plan.passesOver == 1, "nobody waits for what may never end")
        bench.plan.ended("a1", .over)
        #expect(bench.steps() == ["look a1"])
        bench.plan.didLook(Bench.row("a1", .delete))
        #expect(bench.steps() == ["begin delete a1"])
    }

    /// The row was forgotten until the next pass if rows had changed at the moment at which its transfer ended.
    @Test func aRowThatIsLookedAtWhileItsLaneIsReadIsNotLost() {
        var bench = Bench()
        bench.plan.leave(["a1"])
        _ = bench.steps()
        bench.read(.delete, ["a1"])
        #expect(bench.steps() == [])
        bench.plan.rowsChanged()
        bench.plan.ended("a1", .over)
        #expect(bench.steps().filter { $0.hasSuffix("a1") } == ["look a1", "read delete behind a1"])
        bench.plan.didLook(Bench.row("a1", .delete))
        bench.read(.delete, [])
        #expect(bench.steps().contains("begin delete a1"))
    }

    @Test func aRowIsInOneLaneAtATime() {
        var bench = Bench(mostAtOnce: 4)
        _ = bench.steps()
        bench.read(.download, ["a1"])
        _ = bench.steps()
        bench.plan.askForPass()
        _ = bench.steps()
        bench.read(.download, ["a1"])
        #expect(bench.steps() == [], "it is under way")
        bench.plan.rowsChanged()
        _ = bench.steps()
        bench.read(.upload, ["a1"])
        #expect(bench.steps() == [], "it is under way elsewhere")
        bench.plan.ended("a1", .over)
        #expect(bench.steps() == ["look a1"])
        bench.plan.didLook(nil)
        #expect(bench.steps() == [])
    }

    @Test func rowsThatWaitForTheUploadQueueAreTriedWhenItIsEmpty() {
        var bench = Bench()
        _ = bench.steps()
        bench.read(.upload, ["a1"])
        _ = bench.steps()
        #expect(!bench.plan.waitsForQueue)
        bench.plan.ended("a1", .waits)
        #expect(bench.plan.waitsForQueue)
        #expect(bench.steps() == [])
        bench.plan.queueEmptied()
        #expect(!bench.plan.waitsForQueue)
        // The other lanes have nothing to do with it.
        #expect(bench.steps() == ["restart upload", "read upload"])
        bench.plan.queueEmptied()
        bench.read(.upload, ["a1"])
        #expect(bench.steps() == ["begin upload a1"])
    }

    @Test func theCacheIsLookedAtWhateverIsUnderWayAndAsOftenAsTheThrottleLets() {
        var plan = TransferPlan(mostAtOnce: 1, throttle: .seconds(5))
        plan.setMayTransfer(true)
        #expect(plan.steps(at: .zero).contains(.expire))
        plan.didRead([Bench.row("a1", .upload), Bench.row("a2", .upload)], of: .upload)
        for lane in [TransferLane.download, .delete] { plan.didRead([], of: lane) }
        #expect(plan.steps(at: .zero) == [.begin(Bench.row("a1", .upload))], "it is being looked at")
        plan.didExpire()
        // The first one hangs, and keeps the second one waiting.
        plan.rowsChanged()
        #expect(plan.moment == .seconds(5))
        #expect(!plan.steps(at: .seconds(4)).contains(.expire))
        for lane in [TransferLane.download, .delete] { plan.didRead([], of: lane) }
        #expect(plan.steps(at: .seconds(5)) == [.expire])
        plan.didExpire()
        #expect(plan.moment == nil)
        // The pass is over when that was done behind it.
        plan.ended("a1", .over)
        #expect(plan.steps(at: .seconds(6)).contains(.begin(Bench.row("a2", .upload))))
        plan.ended("a2", .over)
        #expect(plan.steps(at: .seconds(6)) == [.read(.upload, behind: Bench.row("a2", .upload).place)])
        plan.didRead([], of: .upload)
        #expect(plan.steps(at: .seconds(6)) == [.expire])
        plan.didExpire()
        #expect(plan.passesOver == 1)
    }

    /// Rows that come again and again keep nobody waiting who asked for a pass, nor rows that have failed.
    @Test func aPassEndsWithTheRowThatWasTheLastOneAtItsBeginning() {
        var bench = Bench()
        _ = bench.steps()
        for lane in [TransferLane.download, .delete] { bench.plan.didRead([], of: lane) }
        bench.plan.didRead(
            [Bench.row("a1", .upload), Bench.row("a2", .upload)], of: .upload,
            last: Bench.row("a2", .upload).place)
        #expect(bench.steps() == ["begin upload a1"])
        bench.plan.ended("a1", .over)
        #expect(bench.steps() == ["begin upload a2"])
        #expect(bench.plan.passesOver == 0)
        bench.plan.rowsChanged()
        bench.plan.ended("a2", .over)
        #expect(bench.steps().contains("read upload behind a2"))
        #expect(bench.plan.passesOver == 1)
        bench.read(.upload, ["a3", "a4"])
        #expect(bench.steps() == ["begin upload a3"])
        // The next one begins, although there are more rows and more come.
        #expect(bench.plan.askForPass() == 2)
        bench.plan.rowsChanged()
        #expect(bench.steps().contains("restart upload"))
        for lane in [TransferLane.download, .delete] { bench.plan.didRead([], of: lane) }
        #expect(bench.plan.passesOver == 1, "what is under way may be of it")
        bench.plan.ended("a3", .over)
        #expect(bench.steps() == ["read upload"])
        bench.plan.didRead(
            [Bench.row("a1", .upload), Bench.row("a4", .upload)], of: .upload,
            last: Bench.row("a4", .upload).place)
        #expect(bench.steps() == ["begin upload a1"])
        bench.plan.ended("a1", .over)
        #expect(bench.steps() == ["begin upload a4"])
        bench.plan.ended("a4", .over)
        _ = bench.steps()
        #expect(bench.plan.passesOver == 2)
    }

    @Test func aPassIsOverWhenNothingIsUnderWay() {
        var bench = Bench()
        #expect(bench.plan.askForPass() == 2, "the first one is that of the beginning")
        _ = bench.steps()
        bench.read(.upload, ["a1"])
        _ = bench.steps()
        #expect(bench.steps() == [])
        #expect(bench.plan.passesOver == 0)
        bench.plan.ended("a1", .over)
        #expect(bench.plan.steps(at: .zero) == [.expire])
        #expect(bench.plan.passesOver == 0, "the cache is being looked at")
        bench.plan.didExpire()
        #expect(bench.steps() == [])
        #expect(bench.plan.passesOver == 2)
        bench.plan.rowsChanged()
        _ = bench.steps()
        #expect(bench.plan.passesOver == 2)
    }

    @Test func aLaneThatCannotBeReadIsReadWithTheNextPass() {
        var bench = Bench()
        _ = bench.steps()
        bench.plan.didRead(nil, of: .upload)
        bench.read(.download, [])
        #expect(bench.steps() == [])
        bench.plan.askForPass()
        #expect(bench.steps().contains("read upload"))
    }

    @Test func whetherRowsHaveLeftIsReadWithTheNextPassWhereItCouldNotBeRead() {
        var plan = TransferPlan(mostAtOnce: 1, throttle: .zero)
        plan.setMayTransfer(true)
        _ = plan.steps(at: .zero)
        plan.didRead([Bench.row("a1", .upload)], of: .upload)
        for lane in [TransferLane.download, .delete] { plan.didRead([], of: lane) }
        #expect(plan.steps(at: .zero).contains(.begin(Bench.row("a1", .upload))))
        plan.rowsChanged()
        #expect(plan.steps(at: .zero).contains(.inspect(["a1"])))
        plan.didInspect(nil, of: ["a1"])
        #expect(!plan.steps(at: .zero).contains(.inspect(["a1"])), "not again and again")
        plan.askForPass()
        #expect(plan.steps(at: .zero).contains(.inspect(["a1"])))
        plan.didInspect([:], of: ["a1"])
        #expect(plan.steps(at: .zero).contains(.cancel("a1")))
    }

    @Test func whoLosesTheRightBeginsNothingAndAPassComesWithIt() {
        var bench = Bench()
        _ = bench.steps()
        bench.read(.upload, ["a1", "a2"])
        _ = bench.steps()
        bench.plan.setMayTransfer(false)
        bench.plan.ended("a1", .over)
        #expect(bench.steps() == [])
        bench.plan.setMayTransfer(true)
        #expect(bench.steps().first == "begin upload a2")
    }

    /// What it holds does not grow with what waits.
    @Test func tenThousandRowsAreHeldAPageAtATime() {
        let (count, most) = (10_000, 8)
        var plan = TransferPlan(mostAtOnce: most, throttle: .zero)
        plan.setMayTransfer(true)
        var (begun, mostHeld) = (0, 0)
        var steps = plan.steps(at: .zero)
        while !steps.isEmpty {
            var running: [TransferRow] = []
            for step in steps {
                switch step {
                case .read(let lane, let place):
                    let first = (place?.timestamp ?? 0) + 1
                    let end = min(count + 1, first + TransferPlan.pageSize)
                    let times = lane == .delete ? 1..<1 : first..<end
                    plan.didRead(
                        times.map { TransferRow(id: "\(lane) \($0)", timestamp: $0, lane: lane) }, of: lane)
                case .begin(let row): running.append(row)
                case .expire: plan.didExpire()
                case .inspect(let ids): plan.didInspect(nil, of: ids)
                case .restart, .look, .cancel: break
                }
            }
            mostHeld = max(mostHeld, plan.heldRows)
            begun += running.count
            for row in running { plan.ended(row.id, .over) }
            steps = plan.steps(at: .zero)
        }
        #expect(begun == 2 * count)
        #expect(mostHeld <= 2 * (TransferPlan.pageSize + most))
    }

    /// Whatever happens in whichever order: no row is transferred twice at once, nor more of them than may be, and in
    /// the end all of them were.
    @Test func randomHistoriesKeepThePromises() async throws {
        try await forEachSeed(500) { random in
            let most = 1 + random.below(3)
            var plan = TransferPlan(
                mostAtOnce: most, throttle: .milliseconds(random.below(3)), pageSize: 1 + random.below(4))
            var world = PlanWorld(uploads: random.below(8), downloads: random.below(8))
            // Where nothing fails every row has its turn without a further pass.
            world.failsNever = random.once(in: 2)
            var now = Duration.zero
            plan.setMayTransfer(true)
            for _ in 0..<(10 + random.below(100)) {
                switch random.below(9) {
                case 0: plan.askForPass()
                case 1: world.add(&random, to: &plan)
                case 2: world.delete(&random, in: &plan)
                case 3: plan.queueEmptied()
                case 4: now += .milliseconds(1)
                case 5: world.endOne(&random, on: &plan)
                default: break
                }
                world.perform(plan.steps(at: now), on: &plan)
                #expect(world.problems(most: most) == [])
                #expect(plan.underWay == Set(world.running.keys))
            }
            // To its end: everything succeeds from now on.
            world.failsNever = true
            if world.hasFailed { plan.askForPass() }
            var turns = 0
            while turns < 1000 {
                turns += 1
                now += .milliseconds(1)
                let steps = plan.steps(at: now)
                if steps.isEmpty, world.running.isEmpty, plan.moment == nil { break }
                world.perform(steps, on: &plan)
                #expect(world.problems(most: most) == [])
                world.endOne(&random, on: &plan)
            }
            #expect(turns < 1000, "it comes to rest")
            #expect(world.rows.isEmpty, "every row was transferred")
            #expect(plan.passesOver == plan.passesAsked)
        }
    }
}

/// Rows and transfers as a run has them, without a database.
private struct PlanWorld {
    private(set) var rows: [String: TransferRow] = [:]
    private(set) var running: [String: TransferRow] = [:]
    private var cancelled: Set<String> = []
    private var doubles: [String] = []
    private var lastTime = 0
    var failsNever = false
    /// Whether a transfer has failed.
    private(set) var hasFailed = false

    init(uploads: Int, downloads: Int) {
        for _ in 0..<uploads { add(.upload) }
        for _ in 0..<downloads { add(.download) }
    }

    private mutating func add(_ lane: TransferLane) {
        lastTime += 1
        let id = "a\(lastTime)"
        rows[id] = TransferRow(id: id, timestamp: lastTime, lane: lane)
    }

    mutating func add(_ random: inout SeededRandom, to plan: inout TransferPlan) {
        add(random.pick(TransferLane.allCases))
        plan.rowsChanged()
    }

    /// Has a row deleted, whatever is done with it.
    mutating func delete(_ random: inout SeededRandom, in plan: inout TransferPlan) {
        guard let id = rows.keys.sorted().randomElement(using: &random) else { return }
        lastTime += 1
        rows[id] = TransferRow(id: id, timestamp: lastTime, lane: .delete)
        plan.rowsChanged()
    }

    mutating func perform(_ steps: [TransferPlan.Step], on plan: inout TransferPlan) {
        for step in steps {
            switch step {
            case .restart: break
            case .read(let lane, let place):
                let page = rows.values.filter { $0.lane == lane && $0.timestamp > (place?.timestamp ?? 0) }
                    .sorted { $0.timestamp < $1.timestamp }
                plan.didRead(page, of: lane, last: place == nil ? page.last?.place : nil)
            case .look(let id): plan.didLook(rows[id])
            case .begin(let row):
                if running[row.id] != nil { doubles.append(row.id) }
                running[row.id] = row
            case .inspect(let ids): plan.didInspect(rows.mapValues(\.lane), of: ids)
            case .cancel(let id): cancelled.insert(id)
            case .expire: plan.didExpire()
            }
        }
    }

    mutating func endOne(_ random: inout SeededRandom, on plan: inout TransferPlan) {
        guard let id = running.keys.sorted().randomElement(using: &random) else { return }
        let fails = !failsNever && random.once(in: 3)
        hasFailed = hasFailed || fails
        end(id, fails: fails, waits: random.once(in: 2), on: &plan)
    }

    private mutating func end(_ id: String, fails: Bool, waits: Bool, on plan: inout TransferPlan) {
        guard let row = running.removeValue(forKey: id) else { return }
        cancelled.remove(id)
        // Done, if the row is still what it was.
        if !fails, rows[id]?.lane == row.lane { rows[id] = nil }
        plan.ended(id, fails && waits ? .waits : .over)
    }

    /// What is not as it should be.
    func problems(most: Int) -> [String] {
        var problems = doubles.map { "\($0) twice at once" }
        for lane in TransferLane.allCases {
            let count = running.values.count { $0.lane == lane }
            if count > most { problems.append("\(count) at once in \(lane)") }
        }
        problems += cancelled.filter { running[$0] == nil }.map { "\($0) was cancelled and is over" }
        return problems
    }
}

extension TransferPlan.Step {
    /// The step in words.
    fileprivate var text: String {
        switch self {
        case .restart(let lane): "restart \(lane)"
        case .read(let lane, let place): "read \(lane)" + (place.map { " behind \($0.id)" } ?? "")
        case .look(let id): "look \(id)"
        case .begin(let row): "begin \(row.lane) \(row.id)"
        case .inspect(let ids): "inspect \(ids.joined(separator: " "))"
        case .cancel(let id): "cancel \(id)"
        case .expire: "expire"
        }
    }
}
