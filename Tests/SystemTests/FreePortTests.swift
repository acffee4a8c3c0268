import Testing

@testable import PowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

struct FreePortTests {
    @Test func aFoundPortCanBeListenedOnAndIsNobodyElses() throws {
        var held: [Int32] = []
        defer { for descriptor in held { close(descriptor) } }
        var ports: Set<Int> = []
        for _ in 0..<20 {
            // Another test may take a port between the two lines, which is what the documentation says, too.
            let port = try FreePort.find()
            guard let listener = try? TCPSocket.listen(port: port) else { continue }
            held.append(listener.descriptor)
            #expect(listener.port == port)
            #expect(ports.insert(port).inserted, "a port that is listened on is found again")
        }
        #expect(ports.count > 10)
    }

    /// Whoever connects while the caller starts a program is given another one.
    @Test func aFoundPortIsNoneThatTheSystemGivesAway() throws {
        let ports = try (0..<20).map { _ in try FreePort.find() }
        #expect(ports.filter { FreePort.named.contains($0) }.count > 10)
    }

    @Test func anAddressOfAnotherMachineHasNone() {
        let error = #expect(throws: SystemError.self) { try FreePort.find(host: "192.0.2.1") }
        #expect(error?.code == .socket)
    }
}
