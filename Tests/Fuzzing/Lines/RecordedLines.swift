import Foundation
import PowerSyncWire

/// The first inputs: every line of the fixtures, in both formats, alone and several in a stream.
enum RecordedLines {
    static func inputs(_ fixtures: URL) throws -> [[UInt8]] {
        var inputs: [[UInt8]] = []
        for recording in try Recordings.read(fixtures) {
            var found = Found()
            found.collect(recording)
            inputs += found.inputs
        }
        return inputs
    }

    private struct Found {
        private var lines: [[UInt8]] = []
        private var documents: [[UInt8]] = []

        /// Takes every object that is a line or stands where one does, however deep.
        mutating func collect(_ json: JSON) {
            if let text = json["line"]?.utf8 { add(text) }
            if let text = json["text"]?.stringValue { add(Array(text.utf8)) }
            if let text = json["base64"]?.stringValue, let data = Data(base64Encoded: text) {
                documents.append([UInt8](data))
            }
            switch json {
            case .array(let elements): for element in elements { collect(element) }
            case .object(let members):
                if members.count == 1, let line = try? SyncLine(parsing: json.utf8) {
                    if case .unknown = line {} else { add(json.utf8) }
                }
                for member in members { collect(member.value) }
            case .null, .bool, .number, .string: break
            }
        }

        private mutating func add(_ text: [UInt8]) {
            lines.append(text)
            // What is no line goes in as JSON alone.
            if let line = try? SyncLine(parsing: text) { documents.append(line.encodedBSON()) }
        }

        var inputs: [[UInt8]] {
            lines.map { [0] + $0 } + documents.map { [1] + $0 } + streams(of: lines.map { $0 + [0x0A] }, 2)
                + streams(of: documents, 3)
        }

        /// Streams are short, so that most of them stay below the largest input.
        private func streams(of pieces: [[UInt8]], _ choice: UInt8) -> [[UInt8]] {
            var streams: [[UInt8]] = []
            for start in stride(from: 0, to: pieces.count, by: 8) {
                let chunks = UInt8(streams.count % 4)
                streams.append([choice, chunks] + pieces[start...].prefix(4).joined())
            }
            return streams
        }
    }
}
