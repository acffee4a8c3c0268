/// What libedit reads on by itself, told by the characters that it was given: a key of several characters, or a search.
///
/// It would take a character that asks for news for one of these. It does not tell, and keys may be bound otherwise: where
/// this is wrong, ``newsWereTaken()`` says so.
package struct KeySequence: Sendable {
    private enum State {
        case none
        /// Behind Escape; behind what begins the keys of a terminal (CSI); before the last character.
        case escape, control, last
        case search
        /// Where it reads a text that ends with its line.
        case text
    }

    private var state = State.none

    /// Begins where nothing is read on.
    package init() {}

    /// Whether libedit is in the midst of something.
    package var isOpen: Bool { state != .none }

    /// Takes a character that libedit was given.
    package mutating func take(_ character: Int32) {
        switch (state, character) {
        case (.none, 0x12): state = .search
        case (.none, 0x18): state = .last
        case (.none, 0x1B), (.escape, 0x1B): state = .escape
        // SS3 and CSI, whose parameters stand before the last character (ECMA-48).
        case (.escape, 0x4F): state = .last
        case (.escape, 0x5B), (.control, 0x20...0x3F): state = .control
        // What is searched for; to delete of it, to search on, to take a word over.
        case (.search, 0x20..<0x7F), (.search, 0x80...), (.search, 0x08), (.search, 0x7F), (.search, 0x12),
            (.search, 0x17):
            break
        case (.text, _): if [0x0A, 0x0D, 0x1B].contains(character) { state = .none }
        default: state = .none
        }
    }

    /// Says that the character that asks for news was taken for another one.
    package mutating func newsWereTaken() { state = .text }
}
