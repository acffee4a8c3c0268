import PowerSyncCommandLine
import PowerSyncSystem
import Testing

@testable import PowerSyncBenchmarks

@Suite struct StackBenchmarkCommandTests {
    @Test func onlyTheThreeMeasuresHaveCommandsOfTheirOwn() {
        #expect(StackBenchmarkCommand.named("stack")?.name == "PowerSyncBenchmarks stack")
        #expect(StackBenchmarkCommand.named("faults")?.name == "PowerSyncBenchmarks faults")
        #expect(
            StackBenchmarkCommand.named("attachments")?.name == "PowerSyncBenchmarks attachments")
        #expect(StackBenchmarkCommand.named("first-sync")?.name == nil)
        #expect(StackBenchmarkCommand.named(nil)?.name == nil)
    }

    @Test(arguments: [
        (
            ["stack", "--only", "first-sync", "--only", "faults"],
            "--only does not take \"faults\"; there are first-sync, write-to-watch, one-transaction, single-transactions"
        ),
        (
            ["faults", "--only", "first-sync"],
            "--only does not take \"first-sync\"; there are cut-stream, blackhole-stream, service-kill, "
                + "postgres-restart, backend-down, client-kill, slot-dropped"
        ),
        (["stack", "--rows", "1500"], "--rows takes a multiple of 1000, not 1500"),
        (["stack", "--runs", "0"], "--runs takes a number from 1 to 99, not \"0\""),
        (["faults", "--rows", "1000"], "there is no option --rows"),
        (["attachments", "--only", "huge"], "--only does not take \"huge\"; there are large, small"),
        (["attachments", "--megabytes", "8"], "--megabytes takes a number from 16 to 100000, not \"8\""),
    ])
    func aLineThatMakesNoSenseStartsNothing(words: [String], message: String) async throws {
        let command = try #require(StackBenchmarkCommand.named(words[0]))
        let said = Lock<[String]>([])
        let status = await command.main(Array(words.dropFirst())) { line in
            said.withLock { $0.append(line) }
        }
        #expect(status == 64)
        #expect(said.withLock { $0.count } == 1)
        #expect(said.withLock { $0.first }?.hasPrefix("error: " + message) == true)
    }

    @Test func theFaultThatLeavesConnectionsBehindIsPlayedLast() {
        #expect(
            Fault.inOrder([.blackHole, .cutStream, .slotDropped]) == [.cutStream, .slotDropped, .blackHole])
        #expect(Fault.inOrder([.clientKill]) == [.clientKill])
    }
}
