import CPowerSyncCrypto

/// The two forms of an ECDSA signature: DER in libcrypto, r and s at full length in JWS (RFC 7518 3.4).
enum ECDSASignature {
    /// Returns r and s behind each other, or nil where the DER bytes are none of a signature.
    static func raw(der: [UInt8], curve: KeyCurve) -> [UInt8]? {
        let signature = der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &start, buffer.count)
        }
        guard let signature else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let count = Int32(curve.byteCount)
        var raw: [UInt8] = []
        for number in [ECDSA_SIG_get0_r(signature), ECDSA_SIG_get0_s(signature)] {
            var bytes = [UInt8](repeating: 0, count: curve.byteCount)
            guard BN_bn2binpad(number, &bytes, count) == count else { return nil }
            raw += bytes
        }
        return raw
    }

    /// Returns the DER form, or nil where the length is not that of the curve.
    static func der(raw: [UInt8], curve: KeyCurve) -> [UInt8]? {
        let count = curve.byteCount
        guard raw.count == 2 * count, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let r = BN_bin2bn(Array(raw.prefix(count)), Int32(count), nil)
        let s = BN_bin2bn(Array(raw.suffix(count)), Int32(count), nil)
        guard r != nil, s != nil, ECDSA_SIG_set0(signature, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        var start: UnsafeMutablePointer<UInt8>?
        let length = i2d_ECDSA_SIG(signature, &start)
        guard length > 0, let bytes = start else { return nil }
        defer { CRYPTO_free(bytes, #file, #line) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(length)))
    }
}
