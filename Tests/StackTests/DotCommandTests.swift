import PowerSync
import PowerSyncStack
import Testing

struct DotCommandTests {
    private static let stream = ClientStream(name: "lists", parameters: nil)

    private static let commands: [(String, DotCommand)] = [
        (".help", .help), ("  .status ; ", .status), (".tables", .tables),
        (".schema", .schema(nil)), (".schema lists", .schema("lists")), (".connect;", .connect),
        (".disconnect", .disconnect), (".clear", .clear(soft: false)), (".clear --soft", .clear(soft: true)),
        (".stream lists", .stream(stream)),
        (
            #".stream lists {"of": 1, "all": true}"#,
            .stream(ClientStream(name: "lists", parameters: ["of": .int(1), "all": .bool(true)]))
        ),
        (".unstream lists", .unstream(stream, all: false)),
        (".unstream --all lists {}", .unstream(ClientStream(name: "lists", parameters: [:]), all: true)),
        (".streams", .streams), (".watch SELECT 1, 2;", .watch("SELECT 1, 2")), (".unwatch", .unwatch(nil)),
        (".unwatch 3", .unwatch(3)), (".queue", .queue),
        (".discard", .discard),
        (".wait first-sync", .wait(.firstSync, seconds: nil)),
        (".wait queue-empty 0.5", .wait(.queueEmpty, seconds: 0.5)),
        (".wait up-to-date 30;", .wait(.upToDate, seconds: 30)), (".mode line", .mode(.line)),
        (".wait attachments", .wait(.attachments, seconds: nil)), (".attachments", .attachments),
        (".wait stream lists", .wait(.stream(stream), seconds: nil)),
        (".wait stream lists  30 ;", .wait(.stream(stream), seconds: 30)),
        (
            #".wait stream lists {"of": 1, "all": true}"#,
            .wait(
                .stream(ClientStream(name: "lists", parameters: ["of": .int(1), "all": .bool(true)])),
                seconds: nil)
        ),
        (
            #".wait stream lists {"of": 1} 0.5"#,
            .wait(.stream(ClientStream(name: "lists", parameters: ["of": .int(1)])), seconds: 0.5)
        ),
        (".attach cat.png", .attach("cat.png", sql: nil)),
        (
            #".attach "my 'cat'.png" UPDATE t SET p = $attachment;"#,
            .attach("my 'cat'.png", sql: "UPDATE t SET p = $attachment")
        ),
        (#".attach 'a"b' SELECT 1"#, .attach(#"a"b"#, sql: "SELECT 1")),
        (#".attach "half SELECT 1"#, .attach("\"half", sql: "SELECT 1")),
        (".export 7f copy.png", .export(id: "7f", "copy.png")),
        (".detach 7f", .detach(id: "7f", sql: nil)),
        (".detach 7f DELETE FROM t", .detach(id: "7f", sql: "DELETE FROM t")),
        (".quit", .quit), (".exit", .quit),
    ]

    @Test(arguments: commands)
    func aCommandIsAWordWithWhatBelongsToIt(line: String, command: DotCommand) throws {
        #expect(try DotCommand(line) == command)
    }

    @Test(arguments: [
        (".fly", "there is no command .fly; .help lists them"),
        (".\u{1B}[2J", "there is no command .\\x1b[2J; .help lists them"),
        (".", "there is no command .; .help lists them"),
        (".status now", "it is typed as .status"),
        (".watch", "it is typed as .watch SQL"),
        (".unwatch one", "it is typed as .unwatch [NUMBER]"),
        (".stream", "it is typed as .stream NAME [JSON]"),
        (".stream lists [1]", "the parameters of a stream are a JSON object"),
        (".wait", "it is typed as .wait STATE [SECONDS]"),
        (".wait rain", "it is typed as .wait STATE [SECONDS]"),
        (".wait first-sync soon", "it is typed as .wait STATE [SECONDS]"),
        (".wait first-sync -1", "it is typed as .wait STATE [SECONDS]"),
        (".wait stream", "it is typed as .wait stream NAME [JSON] [SECONDS]"),
        (".wait stream lists soon", "the parameters of a stream are a JSON object"),
        (".wait stream lists -1", "the parameters of a stream are a JSON object"),
        (".clear --hard", "it is typed as .clear [--soft]"),
        (".attach", "it is typed as .attach FILE [SQL]"),
        (".attachments all", "it is typed as .attachments"),
        (".export 7f", "it is typed as .export ID FILE"),
        (".export 7f a b", "it is typed as .export ID FILE"),
        (".detach", "it is typed as .detach ID [SQL]"),
        (".mode column", "it is typed as .mode auto|table|line"),
    ])
    func aCommandThatMakesNoSenseSaysHowItIsTyped(line: String, message: String) {
        let error = #expect(throws: ClientError.self) { try DotCommand(line) }
        #expect(error?.message == message)
    }

    /// What `.help` says can be typed as it stands there, once its words are values.
    @Test func everyUsageIsACommand() throws {
        for (usage, _) in DotCommand.usages {
            let line =
                usage.replacing("STATE", with: "first-sync").replacing("[SECONDS]", with: "1")
                .replacing("[TABLE]", with: "t").replacing("SQL", with: "SELECT 1")
                .replacing("[NUMBER]", with: "1").replacing("NAME", with: "s")
                .replacing("[JSON]", with: "{}").replacing("[--all]", with: "--all")
                .replacing("[--soft]", with: "--soft").replacing("auto|table|line", with: "auto")
                .replacing("ID", with: "7f").replacing("FILE", with: "f")
            #expect(throws: Never.self) { try DotCommand(line) }
        }
    }
}
