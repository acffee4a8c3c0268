import PowerSyncSystem
import PowerSyncTerminal
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a person sees and gets, at a terminal of this process.
///
/// One editor at a time, as in a program: the library of terminals below libedit keeps what it knows of one for all.
@Suite(.patient(), .serialized)
struct LineEditorTests {
    private static let arrowUp = "\u{1B}[A"
    private static let controlD = "\u{4}"

    /// Lets `body` use an editor with the prompt `p> `.
    private func with(
        columns: Int = 80, terminal kind: String = "xterm",
        _ body: (PseudoTerminal, LineEditor) async throws -> Void
    ) async throws {
        let terminal = try PseudoTerminal(columns: columns)
        var settings = LineEditor.Settings()
        settings.terminal = kind
        settings.usesFile = false
        settings.historyLimit = 3
        let editor = try LineEditor(
            name: "test", input: terminal.slave, output: terminal.slave, settings: settings)
        editor.setPrompt("p> ")
        try await body(terminal, editor)
        await editor.close()
        #expect(terminal.isCooked)
    }

    /// Waits until a text is on the terminal, behind so many bytes.
    private func see(_ text: String, on terminal: PseudoTerminal, since start: Int = 0) async throws {
        try await wait(
            for: text, read: { terminal.text(since: start) }, until: { $0.contains(text) })
    }

    @Test func aLineIsWhatWasTyped() async throws {
        try await with { terminal, editor in
            for text in ["SELECT 1;", "", "é漢😀 \u{301}"] {
                let start = terminal.written.count
                async let line = editor.line()
                try await see("p>", on: terminal, since: start)
                terminal.type("\(text)\r")
                let lineRead = try await line
                #expect(lineRead == .text(text))
            }
        }
    }

    @Test func aTabIsAPartOfTheLine() async throws {
        try await with { terminal, editor in
            async let line = editor.line()
            try await see("p>", on: terminal)
            terminal.type("SELECT length('a\tb');\r")
            let lineRead = try await line
            #expect(lineRead == .text("SELECT length('a\tb');"))
        }
    }

    @Test func whileNobodyReadsTheTerminalIsAsItWas() async throws {
        try await with { terminal, editor in
            #expect(terminal.isCooked)
            async let line = editor.line()
            try await see("p>", on: terminal)
            #expect(!terminal.isCooked)
            terminal.type("x\r")
            let lineRead = try await line
            #expect(lineRead == .text("x"))
            #expect(terminal.isCooked)
        }
    }

    @Test func arrowUpBringsBackWhatIsRemembered() async throws {
        try await with { terminal, editor in
            for entry in ["one", "two", "two", "three\n  of two lines", "four"] { editor.remember(entry) }
            var start = terminal.written.count
            async let newest = editor.line()
            try await see("p>", on: terminal, since: start)
            terminal.type("\(Self.arrowUp)\r")
            let newestRead = try await newest
            #expect(newestRead == .text("four"))
            start = terminal.written.count
            async let second = editor.line()
            try await see("p>", on: terminal, since: start)
            terminal.type("\(Self.arrowUp)\(Self.arrowUp)\r")
            let secondRead = try await second
            #expect(secondRead == .text("three\n  of two lines"))
            start = terminal.written.count
            // There are three at most, and the two that are equal count as one.
            async let oldest = editor.line()
            try await see("p>", on: terminal, since: start)
            terminal.type(String(repeating: Self.arrowUp, count: 9) + "\r")
            let oldestRead = try await oldest
            #expect(oldestRead == .text("two"))
        }
    }

    @Test(arguments: ["xterm", "vt100", "dumb"])
    func aTextAppearsAboveWhatIsBeingTyped(kind: String) async throws {
        try await with(terminal: kind) { terminal, editor in
            async let line = editor.line()
            try await see("p>", on: terminal)
            terminal.type("SELECT")
            try await see("SELECT", on: terminal)
            let start = terminal.written.count
            await editor.print("service lost\nfor now")
            try await see("service lost\nfor now\np> SELECT", on: terminal, since: start)
            terminal.type(" 1;\r")
            let lineRead = try await line
            #expect(lineRead == .text("SELECT 1;"))
        }
    }

    @Test func aTextAppearsAboveALineOfSeveralRows() async throws {
        try await with(columns: 20) { terminal, editor in
            let typed = String(repeating: "0123456789", count: 5)
            async let line = editor.line()
            try await see("p>", on: terminal)
            terminal.type(typed)
            try await wait(for: "what was typed", read: { terminal.text() }) {
                $0.filter(\.isNumber).hasSuffix("6789")
                    && $0.filter(\.isNumber).count >= typed.count
            }
            let start = terminal.written.count
            await editor.print("news")
            try await see("news\np> 0123456789", on: terminal, since: start)
            // Every row of the line was cleared before.
            let before = try #require(terminal.text(since: start).components("news").first)
            #expect(!before.contains("0"))
            terminal.type("\r")
            let lineRead = try await line
            #expect(lineRead == .text(typed))
        }
    }

    @Test func aTextWhileNobodyTypesIsWrittenAtOnce() async throws {
        try await with { terminal, editor in
            await editor.print("one")
            await editor.print("two")
            try await wait(for: "both", read: { terminal.text() }, until: { $0 == "one\ntwo\n" })
        }
    }

    /// Somebody else who has the terminal may do so for all.
    @Test func nothingIsLostOnATerminalThatIsNonBlocking() async throws {
        try await with { terminal, editor in
            #expect(fcntl(terminal.slave, F_SETFL, O_NONBLOCK) == 0)
            let lines = (1...20_000).map { "line \($0) of a text that no terminal takes at once\n" }
            let text = lines.joined() + "end\n"
            await editor.print(String(text.dropLast()))
            try await wait(
                for: "the last line", read: { String(decoding: terminal.written.suffix(5), as: UTF8.self) },
                until: { $0 == "end\r\n" })
            #expect(terminal.text() == text)
        }
    }

    @Test func anotherPromptStandsInThePlaceOfTheOld() async throws {
        try await with { terminal, editor in
            async let line = editor.line()
            try await see("p>", on: terminal)
            terminal.type("typed")
            try await see("typed", on: terminal)
            let start = terminal.written.count
            editor.setPrompt("connected> ")
            try await see("connected> typed", on: terminal, since: start)
            #expect(!terminal.text(since: start).contains("\n"))
            terminal.type("\r")
            let lineRead = try await line
            #expect(lineRead == .text("typed"))
        }
    }

    @Test func aTerminalThatCannotMoveTheCursorGetsNoSecondCopyForAPrompt() async throws {
        try await with(terminal: "dumb") { terminal, editor in
            async let line = editor.line()
            try await see("p>", on: terminal)
            terminal.type("typed")
            try await see("typed", on: terminal)
            editor.setPrompt("connected> ")
            terminal.type(" on\r")
            let lineRead = try await line
            #expect(lineRead == .text("typed on"))
            #expect(!terminal.text().contains("connected>"))
        }
    }

    @Test func aLineThatIsGivenUpIsMarkedAndTheNextOneIsWhole() async throws {
        try await with { terminal, editor in
            #expect(!editor.interrupt())
            async let line = editor.line()
            try await see("p>", on: terminal)
            terminal.type("half")
            try await see("half", on: terminal)
            #expect(editor.interrupt())
            let lineRead = try await line
            #expect(lineRead == .interrupted(isEmpty: false))
            try await see("half^C\n", on: terminal)
            let start = terminal.written.count
            async let empty = editor.line()
            try await see("p>", on: terminal, since: start)
            editor.interrupt()
            let emptyRead = try await empty
            #expect(emptyRead == .interrupted(isEmpty: true))
            let again = terminal.written.count
            async let next = editor.line()
            try await see("p>", on: terminal, since: again)
            terminal.type("whole\r")
            let nextRead = try await next
            #expect(nextRead == .text("whole"))
        }
    }

    /// A connection may cut a character in two, and a terminal of another encoding sends what looks like a half.
    @Test func halfACharacterHoldsUpNothing() async throws {
        try await with { terminal, editor in
            async let line = editor.line()
            try await see("p>", on: terminal)
            terminal.type(Array("x".utf8) + [0xC3])
            try await see("p> x", on: terminal)
            let start = terminal.written.count
            await editor.print("news")
            try await see("news\np> x", on: terminal, since: start)
            // The other half; then one that nothing follows.
            terminal.type([0xA9, 0xC3] + Array("y\r".utf8))
            let lineRead = try await line
            #expect(lineRead == .text("xéy"))
        }
    }

    @Test func halfACharacterHoldsUpNoInterruption() async throws {
        try await with { terminal, editor in
            async let line = editor.line()
            try await see("p>", on: terminal)
            terminal.type(Array("x".utf8) + [0xE6, 0xBC])
            try await see("p> x", on: terminal)
            editor.interrupt()
            let lineRead = try await line
            #expect(lineRead == .interrupted(isEmpty: false))
            let start = terminal.written.count
            async let next = editor.line()
            try await see("p>", on: terminal, since: start)
            terminal.type("z\r")
            let nextRead = try await next
            #expect(nextRead == .text("z"))
        }
    }

    /// A connection may cut a key in two: libedit would take what asks it for news for a part of it.
    @Test func newsWaitForTheRestOfAKey() async throws {
        try await with { terminal, editor in
            editor.remember("SELECT one;")
            async let line = editor.line()
            try await see("p>", on: terminal)
            terminal.type("x")
            try await see("p> x", on: terminal)
            for round in 1...20 {
                let start = terminal.written.count
                terminal.type("\u{1B}")
                editor.setPrompt("\(round)> ")
                let (rest, shown) = round.isMultiple(of: 2) ? ("[B", "x") : ("[A", "SELECT one;")
                for key in rest { terminal.type(String(key)) }
                try await wait(
                    for: "\(shown) behind \(round)", read: { terminal.text(since: start) },
                    until: { $0.contains("\(round)> ") && $0.contains(shown) })
            }
            terminal.type("\r")
            let lineRead = try await line
            #expect(lineRead == .text("x"))
        }
    }

    @Test func newsWaitForTheEndOfASearch() async throws {
        try await with { terminal, editor in
            for entry in ["insert_one;", "insert_two;"] { editor.remember(entry) }
            async let line = editor.line()
            try await see("p>", on: terminal)
            terminal.type("\u{12}i")
            try await see("insert_two;", on: terminal)
            editor.setPrompt("q> ")
            for key in "nsert_o" {
                let start = terminal.written.count
                terminal.type(String(key))
                try await wait(for: "what \(key) does") { terminal.written.count > start }
            }
            // It ends the search, with what was found; had the news ended it, the letters would stand in the line.
            let start = terminal.written.count
            terminal.type("\u{1B}")
            try await see("q> insert_one;", on: terminal, since: start)
            terminal.type("\r")
            let lineRead = try await line
            #expect(lineRead == .text("insert_one;"))
        }
    }

    @Test(arguments: ["\u{12}SEL", "\u{1B}", "\u{1B}[", "\u{18}", "\u{1B}xed-"])
    func aLineCanBeGivenUpInTheMidstOfAKey(keys: String) async throws {
        try await with { terminal, editor in
            editor.remember("SELECT one;")
            async let line = editor.line()
            try await see("p>", on: terminal)
            terminal.type("half" + keys)
            try await see("half", on: terminal)
            editor.interrupt()
            let lineRead = try await line
            #expect(lineRead == .interrupted(isEmpty: false))
            let start = terminal.written.count
            async let next = editor.line()
            try await see("p>", on: terminal, since: start)
            terminal.type("\u{15}whole\r")
            let nextRead = try await next
            #expect(nextRead == .text("whole"))
        }
    }

    @Test func controlDOnAnEmptyLineIsTheEnd() async throws {
        try await with { terminal, editor in
            async let line = editor.line()
            try await see("p>", on: terminal)
            terminal.type(Self.controlD)
            let lineRead = try await line
            #expect(lineRead == .end)
        }
    }

    /// It sends NUL, as the system keeps a Control-D that is typed before anybody reads.
    @Test func controlSpaceIsNoEnd() async throws {
        try await with { terminal, editor in
            async let line = editor.line()
            try await see("p>", on: terminal)
            // What is seen was typed when the line was being read.
            terminal.type("x")
            try await see("p> x", on: terminal)
            terminal.type("\u{7F}\0y\r")
            let lineRead = try await line
            #expect(lineRead == .text("y"))
        }
    }

    @Test func whoeverIsCancelledGetsNoLineAndTheNextOneDoes() async throws {
        try await with { terminal, editor in
            let cancelled = Task { try await editor.line() }
            try await see("p>", on: terminal)
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            let start = terminal.written.count
            async let line = editor.line()
            try await see("p>", on: terminal, since: start)
            terminal.type("x\r")
            let lineRead = try await line
            #expect(lineRead == .text("x"))
        }
    }

    @Test func closingEndsWhatIsBeingReadAndShowsWhatIsLeft() async throws {
        let terminal = try PseudoTerminal()
        var settings = LineEditor.Settings()
        settings.terminal = "xterm"
        settings.usesFile = false
        let editor = try LineEditor(
            name: "test", input: terminal.slave, output: terminal.slave, settings: settings)
        editor.setPrompt("p> ")
        let reading = Task { try await editor.line() }
        try await see("p>", on: terminal)
        await editor.close()
        await #expect(throws: CancellationError.self) { try await reading.value }
        #expect(terminal.isCooked)
        // Of no use any more, and nobody waits for ever.
        await editor.print("late")
        await #expect(throws: CancellationError.self) { try await editor.line() }
    }

    @Test func aLineGoesOnInATerminalOfAnotherSize() async throws {
        try await with(columns: 80) { terminal, editor in
            async let line = editor.line()
            try await see("p>", on: terminal)
            terminal.type("before")
            try await see("before", on: terminal)
            let start = terminal.written.count
            terminal.resize(columns: 40)
            editor.renew()
            try await see("p> before", on: terminal, since: start)
            #expect(Terminal.columns(of: terminal.slave) == 40)
            terminal.type(" and behind\r")
            let lineRead = try await line
            #expect(lineRead == .text("before and behind"))
        }
    }

    @Test func aDescriptorThatIsNoneIsAnError() throws {
        let terminal = try PseudoTerminal()
        let descriptors: [(Int32, Int32)] = [(-1, terminal.slave), (terminal.slave, -1)]
        for (input, output) in descriptors {
            #expect(throws: SystemError.self) {
                _ = try LineEditor(name: "test", input: input, output: output)
            }
        }
    }

    @Test func whatIsNoTerminalIsNone() throws {
        let terminal = try PseudoTerminal(columns: 33)
        #expect(Terminal.isTerminal(terminal.slave))
        #expect(Terminal.columns(of: terminal.slave) == 33)
        #expect(Terminal.isDumb("dumb") && Terminal.isDumb("") && !Terminal.isDumb("xterm"))
    }
}

extension String {
    /// The parts between the places where a text stands.
    fileprivate func components(_ separator: String) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}
