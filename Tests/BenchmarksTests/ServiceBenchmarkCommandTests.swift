import PowerSyncCommandLine
import PowerSyncSystem
import Testing

@testable import PowerSyncBenchmarks

@Suite struct ServiceBenchmarkCommandTests {
    @Test func aPartIsNamedByItsNameOrByWhatSeveralBeginWith() throws {
        #expect(try ServicePart.named([]) == ServicePart.allCases)
        #expect(try ServicePart.named(["latency", "start"]) == [.start, .latency])
        #expect(try ServicePart.named(["warm", "warm1m"]) == [.warm100k, .warm1m])
        #expect(try ServicePart.named(["write"]) == [.writeCheckpoint])
        #expect(throws: ServicePart.UnknownPart.self) { try ServicePart.named(["start", ""]) }
    }

    @Test func theHelpNamesEveryPart() {
        let help = ServiceBenchmarkCommand.command.discussion
        for part in ServicePart.allCases {
            #expect(help.contains("\n \(part.rawValue) "), "\(part.rawValue)")
        }
    }

    @Test(arguments: [
        (
            ["--only", "start", "--only", "tepid"],
            "--only does not take \"tepid\"; there are start, snapshot100k, snapshot1m, warm100k, warm1m, "
                + "bulk, singles, latency, write-checkpoint, connects, fanout, idle, memory, "
                + "compile, language, lookups"
        ),
        (["--pairs", "0"], "--pairs takes a number from 1 to 99, not \"0\""),
        (["--program", "nowhere/service"], "--program: nowhere/service is no program"),
        (["--rows", "1000"], "there is no option --rows"),
    ])
    func aLineThatMakesNoSenseStartsNothing(words: [String], message: String) async {
        let said = Lock<[String]>([])
        let status = await ServiceBenchmarkCommand.command.main(words) { line in
            said.withLock { $0.append(line) }
        }
        #expect(status == 64)
        #expect(said.withLock { $0.count } == 1)
        #expect(said.withLock { $0.first }?.hasPrefix("error: " + message) == true)
    }
}
