import PowerSyncCrypto
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

struct LibcryptoTests {
    /// What is registered first runs last: behind the cleanup of the library, if it has one.
    @Test func whatRunsBesideTheEndOfAProgramMayUseIt() async {
        await #expect(processExitsWith: .success) {
            atexit { _ = Digest.sha256([1]) }
            Libcrypto.staysUntilTheEnd()
            _ = Digest.sha256([1])
            exit(0)
        }
    }
}
