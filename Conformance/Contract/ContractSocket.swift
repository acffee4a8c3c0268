import PowerSyncHTTP
import PowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A connection to a backend on which bytes are written as they are told, for requests that no client library sends.
///
/// Only http: a backend behind TLS has a proxy there that answers in its place.
package final class ContractSocket: Sendable {
    private let poller: Poller
    private let channel: Channel
    private let deadline: ContinuousClock.Instant
    private let received = Lock<[UInt8]>([])

    /// Connects.
    ///
    /// - Parameters:
    ///   - url: What the URLs of the backend begin with.
    ///   - patience: How long everything on this connection may take.
    /// - Throws: `ContractError` for a URL that is none of http, or that nobody listens at; `SystemError`,
    ///   `CancellationError`.
    package init(_ url: String, within patience: Duration) async throws {
        let poller = try Poller()
        let deadline = ContinuousClock.now + patience
        do {
            let (host, port) = try Self.place(url)
            let addresses = try await poller.addresses(of: host, until: deadline) ?? []
            guard let address = addresses.first(where: { !$0.description.contains(":") }) else {
                throw ContractError(.socket, "\(host) has no address of version 4")
            }
            let descriptor = try TCPSocket.connect(address: address.description, port: port)
            let channel: Channel
            do {
                channel = try poller.channel(descriptor)
            } catch {
                close(descriptor)
                throw error
            }
            // A refusal shows as an error of the first write.
            _ = try await channel.writable(until: deadline)
            self.channel = channel
        } catch {
            poller.stop()
            throw error
        }
        self.poller = poller
        self.deadline = deadline
    }

    deinit {
        channel.deregister()
        close(channel.descriptor)
        poller.stop()
    }

    private static func place(_ url: String) throws(ContractError) -> (host: String, port: Int) {
        guard url.hasPrefix("http://") else { throw ContractError(.socket, "\(url) is no URL of http") }
        let authority = url.dropFirst(7).prefix { $0 != "/" }
        let parts = authority.split(separator: ":")
        guard let host = parts.first, parts.count < 3, let port = Int(parts.count == 2 ? parts[1] : "80")
        else {
            throw ContractError(.socket, "\(url) names no host and port")
        }
        return (String(host), port)
    }

    /// Writes a text.
    package func send(_ text: String) async throws {
        var left = Array(text.utf8)[...]
        while !left.isEmpty {
            let count = left.withUnsafeBytes { write(to: channel.descriptor, $0) }
            if count > 0 {
                left = left.dropFirst(count)
            } else if errno == EAGAIN {
                guard try await channel.writable(until: deadline) else {
                    throw ContractError(.socket, "the backend reads nothing")
                }
            } else {
                throw ContractError(.socket, "cannot send: \(SystemError.text(of: errno))")
            }
        }
    }

    /// Reads once; false at the end of the connection.
    private func read() async throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(channel.descriptor, &buffer, buffer.count, 0)
            if count > 0 {
                received.withLock { $0 += buffer[..<count] }
                return true
            }
            if count == 0 || errno == ECONNRESET { return false }
            guard errno == EAGAIN else {
                throw ContractError(.socket, "cannot read: \(SystemError.text(of: errno))")
            }
            guard try await channel.readable(until: deadline) else {
                throw ContractError(.socket, "the backend answers nothing")
            }
        }
    }

    /// Reads one answer whose body has a length; status 0 where the connection ends instead.
    package func answer() async throws -> ContractAnswer {
        let begun = ContinuousClock.now
        guard let head = try await take({ $0.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound }) else {
            return ContractAnswer(status: 0, fields: [:], body: [], time: .now - begun)
        }
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        let status = lines.first.flatMap { Int($0.dropFirst(9).prefix(3)) } ?? 0
        var fields = HTTPFields()
        for line in lines.dropFirst() {
            guard let mark = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: mark)...].drop { $0 == " " }
            fields.append(String(line[..<mark]), String(value))
        }
        let length = fields["content-length"].flatMap { Int($0) } ?? 0
        let body = try await status < 200 ? [] : take({ $0.count >= length ? length : nil }) ?? []
        return ContractAnswer(status: status, fields: fields, body: body, time: .now - begun)
    }

    /// Whether the backend ends the connection, which it is waited for.
    package func ends() async throws -> Bool {
        while try await read() {}
        return true
    }

    /// Takes bytes off the front once there are enough; nil when the connection ends before.
    private func take(_ count: ([UInt8]) -> Int?) async throws -> [UInt8]? {
        while true {
            let taken = received.withLock { bytes -> [UInt8]? in
                guard let count = count(bytes) else { return nil }
                defer { bytes.removeFirst(count) }
                return Array(bytes[..<count])
            }
            if let taken { return taken }
            guard try await read() else { return nil }
        }
    }
}

/// Sends without a signal when the peer is gone; outside of the type, whose own `send` hides the function.
private func write(to descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if os(Linux)
        return send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    #else
        // The sockets of `TCPSocket` have SO_NOSIGPIPE set.
        return send(descriptor, bytes.baseAddress, bytes.count, 0)
    #endif
}
