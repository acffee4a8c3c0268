import Foundation

/// Writes what a target begins with: inputs into the folder `seeds`, its words into the file `words`.
struct FirstInputs {
    let folder: URL

    /// Writes one file for each input and returns how many there are.
    func write(_ type: any FuzzTarget.Type, fixtures: URL) throws -> Int {
        let seeds = folder.appending(path: "seeds")
        try FileManager.default.createDirectory(at: seeds, withIntermediateDirectories: true)
        let inputs = Set(try type.firstInputs(fixtures: fixtures))
        // Sorted, so that a seed of libFuzzer gives the same run again.
        for (number, input) in inputs.sorted(by: { $0.lexicographicallyPrecedes($1) }).enumerated() {
            try Data(input).write(to: seeds.appending(path: "\(number)"))
        }
        let words = type.words.map { "\"" + $0.utf8.map(Self.escaped).joined() + "\"\n" }.joined()
        try Data(words.utf8).write(to: folder.appending(path: "words"))
        return inputs.count
    }

    /// A byte as it stands in a dictionary of libFuzzer.
    private static func escaped(_ byte: UInt8) -> String {
        if byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            return String(UnicodeScalar(byte))
        }
        return "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
}
