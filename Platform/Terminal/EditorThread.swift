import CPowerSyncEdit
import PowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What the thread of an editor does: it alone calls libedit, and writes to the terminal.
///
/// While it reads a line, libedit asks it for each character. What happens meanwhile comes as a character, too, for
/// which libedit clears the line, asks for the prompt and draws both anew. Whatever is to be written is written between
/// the clearing and the prompt, so that libedit always knows what stands on the screen.
final class EditorThread {
    private let desk: EditorDesk
    private let input: Int32
    private let output: Int32
    private let owner: UnsafeMutablePointer<ps_edit_owner>
    private let events: OpaquePointer
    private let editor: OpaquePointer
    /// The kind of terminal, which libedit does not copy; nil for that of the environment.
    private let terminal: UnsafeMutablePointer<CChar>?
    /// Whether lines are edited; else the system's own way of typing a line serves.
    private let isEditing: Bool
    /// Whether the terminal can draw a line anew in its place.
    private let isSmart: Bool
    /// The prompt that libedit was given last.
    private var prompt: UnsafeMutablePointer<CChar>?
    /// Whether the next prompt stands at the beginning of a line that is clear.
    private var mayWrite = false
    /// Whether what stands below that line is to be cleared, too: libedit does not know how a line has been broken anew.
    private var clearsBelow = false
    /// Set once the line is marked as given up.
    private var givenUp: GivenUp?
    /// What libedit is in the midst of.
    private var keys = KeySequence()
    /// Whether libedit has the character that asks for news, and has not asked for them.
    private var isAsking = false
    /// The bytes of a character of which the rest has not come yet.
    private var partial: [UInt8] = []
    /// How many of the next bytes were typed before libedit had the terminal; nil until it has it.
    private var typedAhead: Int?
    /// Whether the terminal has gone.
    private var isAtEnd = false

    /// A line that is given up, and whether it had anything in it.
    private struct GivenUp {
        let isEmpty: Bool
    }

    /// How often to ask for a terminal that the shell has.
    private static let mostRefusals = 20

    private init(
        _ desk: EditorDesk, name: String, input: Int32, output: Int32, settings: LineEditor.Settings
    ) {
        self.desk = desk
        self.input = input
        self.output = output
        owner = .allocate(capacity: 1)
        owner.initialize(
            to: ps_edit_owner(
                context: nil,
                prompt: { context in UnsafePointer(EditorThread.thread(context).nextPrompt()) },
                next: { context in EditorThread.thread(context).nextCharacter() },
                news: { context in EditorThread.thread(context).nextNews() }))
        let terminal = settings.terminal.flatMap { strdup($0) }
        guard let events = ps_edit_events(Int32(clamping: settings.historyLimit)),
            let editor = ps_edit_open(
                name, input, output, terminal, settings.usesFile ? 1 : 0, owner, events)
        else { preconditionFailure("no memory for a line editor") }
        self.events = events
        self.editor = editor
        self.terminal = terminal
        isEditing = ps_edit_is_editing(editor) != 0
        isSmart = isEditing && !Terminal.isDumb(settings.terminal)
        owner.pointee.context = Unmanaged.passUnretained(self).toOpaque()
    }

    /// Does what is asked for until the editor is to end; blocks.
    ///
    /// - Parameters:
    ///   - desk: where it is asked for.
    ///   - name: what libedit calls the program.
    ///   - input: a descriptor of the terminal to read, which is closed at the end, like the other one.
    ///   - output: a descriptor of the terminal to write.
    ///   - settings: how lines are edited.
    static func run(
        _ desk: EditorDesk, name: String, input: Int32, output: Int32, settings: LineEditor.Settings
    ) {
        TextLocale().use {
            let thread = EditorThread(desk, name: name, input: input, output: output, settings: settings)
            thread.serve()
            thread.close()
        }
        desk.ended()
    }

    private func close() {
        if isEditing { ps_edit_keep_modes(editor, isInForeground ? 0 : 1) }
        ps_edit_close(editor)
        history_end(events)
        owner.deinitialize(count: 1)
        owner.deallocate()
        free(prompt)
        free(terminal)
    }

    // MARK: Work

    private func serve() {
        while true {
            // Before looking for work: what is asked for later leaves a new sign.
            desk.takeSigns()
            switch desk.takeWork() {
            case .nothing: waitForSign()
            case .remember(let entries): for entry in entries { ps_edit_remember(events, entry) }
            case .write(let texts): write(texts)
            case .read: desk.answer(Result { try readLine() })
            case .end: return
            }
        }
    }

    private func waitForSign() {
        var request = pollfd(fd: desk.signs, events: Int16(POLLIN), revents: 0)
        // A call that is interrupted looks once more for work.
        _ = poll(&request, 1, -1)
    }

    private func write(_ texts: [EditorDesk.Text]) {
        write(texts.map(\.text).joined())
        desk.written(texts)
    }

    private func write(_ text: String) {
        guard waitForRoom() else { return }
        ps_edit_flush(editor)
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while let start = rest.baseAddress, !rest.isEmpty, waitForRoom() {
                let count = systemWrite(output, start, rest.count)
                if count < 0, errno == EINTR || errno == EAGAIN { continue }
                // A terminal that has gone shows when it is read.
                guard count > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }

    /// Waits until the terminal takes more, also where somebody has made it non-blocking; false if the editor ends and it
    /// takes nothing for a second.
    private func waitForRoom() -> Bool {
        while true {
            let isEnding = desk.isEnding
            var requests = [pollfd(fd: output, events: Int16(POLLOUT), revents: 0)]
            if !isEnding { requests.append(pollfd(fd: desk.signs, events: Int16(POLLIN), revents: 0)) }
            let count = poll(&requests, nfds_t(requests.count), isEnding ? 1000 : -1)
            if requests[0].revents != 0 { return true }
            if count == 0 { return false }
            // Whoever looks for work or news does so again behind a text.
            desk.takeSigns()
        }
    }

    // MARK: A line

    private func readLine() throws -> LineEditor.Line {
        waitForForeground()
        if desk.news.isOver { throw CancellationError() }
        if isEditing { ps_edit_keep_modes(editor, 0) }
        givenUp = nil
        keys = KeySequence()
        isAsking = false
        partial = []
        typedAhead = nil
        isAtEnd = false
        // At the beginning of a line, as whatever was written before it ended with one.
        mayWrite = true
        // What there was until now shows in any case.
        _ = desk.takeNews()
        var count: Int32 = 0
        guard let start = el_gets(editor, &count), count > 0 else {
            // The cursor stands behind what was typed, or behind the mark of the end.
            write("\n")
            if let givenUp { return .interrupted(isEmpty: givenUp.isEmpty) }
            if desk.news.isOver, !isAtEnd { throw CancellationError() }
            return .end
        }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(count))
        var line = String(decoding: bytes, as: UTF8.self)
        if line.unicodeScalars.last == "\n" { line.unicodeScalars.removeLast() }
        return .text(line)
    }

    private static func thread(_ context: UnsafeMutableRawPointer?) -> EditorThread {
        guard let context else { preconditionFailure("libedit asks nobody before the editor is open") }
        return Unmanaged<EditorThread>.fromOpaque(context).takeUnretainedValue()
    }

    /// Returns the prompt, behind all that was to be written.
    private func nextPrompt() -> UnsafeMutablePointer<CChar>? {
        if mayWrite {
            mayWrite = false
            if clearsBelow { write("\u{1B}[J") }
            clearsBelow = false
            let texts = desk.takeTexts()
            if !texts.isEmpty { write(texts) }
        }
        free(prompt)
        prompt = strdup(desk.prompt)
        return prompt
    }

    /// Says what libedit is to do about the news.
    private func nextNews() -> Int32 {
        isAsking = false
        let news = desk.takeNews()
        if news.isInterrupted {
            givenUp = GivenUp(isEmpty: ps_edit_is_empty(editor) != 0)
            return Int32(PS_EDIT_GIVE_UP)
        }
        guard news.isOutdated || news.hasTexts || news.hasPrompt else { return Int32(PS_EDIT_NOTHING) }
        mayWrite = true
        clearsBelow = news.isOutdated && isSmart
        return Int32(news.isOutdated ? PS_EDIT_RENEW : PS_EDIT_REDRAW)
    }

    /// Blocks until there is a character, or news; negative at the end of the line's reading.
    private func nextCharacter() -> Int32 {
        // libedit has taken the terminal before it asks for the first character.
        if typedAhead == nil { typedAhead = isEditing ? Int(ps_edit_unread(input)) : 0 }
        while true {
            let news = desk.news
            if news.isOver, isEditing, !isInForeground { ps_edit_keep_modes(editor, 1) }
            if news.isOver || givenUp != nil { return -1 }
            if isAsking {
                isAsking = false
                keys.newsWereTaken()
            }
            if news.isInterrupted {
                if isEditing, !keys.isOpen { return askingForNews() }
                givenUp = GivenUp(isEmpty: ps_edit_is_empty(editor) != 0)
                if isEditing { write("^C") }
                return -1
            }
            // The prompt alone is worth no second copy of the line.
            let isPending = news.isOutdated || news.hasTexts || (news.hasPrompt && isSmart)
            let isWanted = isPending && !keys.isOpen && isInForeground
            // What is typed comes first: a key may send several characters, and nothing may come between them.
            switch waitForInput(orNoLonger: isWanted) {
            case .input:
                if let character = readCharacter() {
                    if isEditing { keys.take(character) }
                    return character
                }
                if isAtEnd { return -1 }
            case .sign: desk.takeSigns()
            case .nothing:
                if isEditing { return askingForNews() }
                writePlainly()
            }
        }
    }

    /// Returns the character for which libedit asks for news, unless it is in the midst of something.
    private func askingForNews() -> Int32 {
        isAsking = true
        return Int32(PS_EDIT_NEWS)
    }

    /// Writes where libedit draws nothing, and the prompt once more.
    private func writePlainly() {
        _ = desk.takeNews()
        let texts = desk.takeTexts()
        guard !texts.isEmpty else { return }
        write("\n")
        write(texts)
        write(desk.prompt)
    }

    private enum Readiness {
        case input, sign, nothing
    }

    private func waitForInput(orNoLonger isHurried: Bool) -> Readiness {
        var requests = [
            pollfd(fd: input, events: Int16(POLLIN), revents: 0),
            pollfd(fd: desk.signs, events: Int16(POLLIN), revents: 0),
        ]
        let count = poll(&requests, 2, isHurried ? 0 : -1)
        if count == 0 { return .nothing }
        // The end of a terminal shows when it is read.
        return requests[0].revents != 0 ? .input : .sign
    }

    /// Reads one byte, and returns the character that ends with it; nil for none, or the end if `isAtEnd` says so.
    private func readCharacter() -> Int32? {
        guard let byte = readByte() else { return nil }
        let wasTypedAhead = (typedAhead ?? 0) > 0
        if wasTypedAhead { typedAhead? -= 1 }
        if byte & 0xC0 == 0x80, let first = partial.first {
            partial.append(byte)
            guard partial.count == (first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4) else { return nil }
            defer { partial = [] }
            return String(validating: partial, as: UTF8.self)?.unicodeScalars.first.map {
                Int32(bitPattern: $0.value)
            }
        }
        // Of one that does not go on nothing is to be made, nor of a byte that begins none.
        partial = (0xC2...0xF4).contains(byte) ? [byte] : []
        // Control-D that was typed before libedit had the terminal: the system keeps the end of its own line as NUL. Later
        // it is Control-Space, which means nothing.
        if byte == 0, isEditing { return wasTypedAhead ? 4 : nil }
        return byte < 0x80 ? Int32(byte) : nil
    }

    /// Reads one byte, which is there; nil for none, which is the end if `isAtEnd` says so.
    private func readByte() -> UInt8? {
        var byte: UInt8 = 0
        var refusals = 0
        while true {
            let count = read(input, &byte, 1)
            if count == 1 { return byte }
            let error = errno
            if count < 0 {
                if error == EINTR { continue }
                // Somebody else who reads the terminal was quicker.
                if error == EAGAIN { return nil }
                if error == EIO, !isInForeground, refusals < Self.mostRefusals {
                    refusals += 1
                    stop()
                    continue
                }
            }
            isAtEnd = true
            return nil
        }
    }

    /// Waits until the terminal is ours, whose modes are those of somebody else until then; not for ever.
    private func waitForForeground() {
        for _ in 0..<Self.mostRefusals where !isInForeground && !desk.news.isOver { stop() }
    }

    /// Stops the program, as the system does that reads a terminal which the shell has.
    ///
    /// Every signal is blocked in this thread, so the system does not do it by itself. The program goes on in the
    /// foreground; without a shell nothing stops it.
    private func stop() {
        kill(getpid(), SIGTTIN)
        DetachedThread.sleep(for: .milliseconds(50))
    }

    /// Whether the terminal is ours at this moment; also where it is not the one of the session.
    private var isInForeground: Bool {
        let group = tcgetpgrp(input)
        return group < 0 || group == getpgrp()
    }
}

/// Outside of the type, whose own `write` hides the function.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
