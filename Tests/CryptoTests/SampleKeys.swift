/// Keys for tests alone: those of the RFCs, and some that were made with the `openssl` command.
enum SampleKeys {
    /// RFC 7515 A.1.1.
    static let secret =
        #"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}"#

    /// RFC 7515 A.2.1, the public members.
    static let rsaPublic = """
        {"kty":"RSA",
         "n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-S\
        Fd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTB\
        EMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2P\
        AcDTW9gb54h4FRWyuXpoQ",
         "e":"AQAB"}
        """

    /// RFC 7515 A.3.1.
    static let p256 = """
        {"kty":"EC", "crv":"P-256",
         "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
         "d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}
        """

    /// RFC 8037 A.1.
    static let ed25519 = """
        {"kty":"OKP", "crv":"Ed25519", "d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
         "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
        """

    /// RFC 7638 3.1, with members that the thumbprint leaves out.
    static let thumbprinted = """
        {"kty":"RSA", "alg":"RS256", "kid":"2011-04-29", "e":"AQAB",
         "n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCi\
        FV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0\
        zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFC\
        ur-kEgU8awapJzKnqDKgw"}
        """

    /// PKCS#8 of a P-256 key.
    static let p256PEM = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgorx8IqvWjeeYYF7i
        c4ZOUvhKS24ok1ge1u45pZG7v6mhRANCAAQuxGL//SdixDtIOVJBsDElUBOmZx+n
        FxGZoya/XcKDAbvfIEWgcwu8pPDA3TI1o4GQbhXI7AFs4nmGmWrWSrEU
        -----END PRIVATE KEY-----
        """

    /// The same key in the form of SEC 1.
    static let p256SEC1 = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIKK8fCKr1o3nmGBe4nOGTlL4SktuKJNYHtbuOaWRu7+poAoGCCqGSM49
        AwEHoUQDQgAELsRi//0nYsQ7SDlSQbAxJVATpmcfpxcRmaMmv13CgwG73yBFoHML
        vKTwwN0yNaOBkG4VyOwBbOJ5hplq1kqxFA==
        -----END EC PRIVATE KEY-----
        """

    /// The public half of the same key.
    static let p256PublicPEM = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELsRi//0nYsQ7SDlSQbAxJVATpmcf
        pxcRmaMmv13CgwG73yBFoHMLvKTwwN0yNaOBkG4VyOwBbOJ5hplq1kqxFA==
        -----END PUBLIC KEY-----
        """

    /// PKCS#8 of an Ed25519 key.
    static let ed25519PEM = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEICZosf4njv4duRnk7QAt7XuFgMQtp16OWTRd7Qt9N/io
        -----END PRIVATE KEY-----
        """

    /// A key behind a password.
    static let encryptedPEM = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiINVc+Mrhd4AICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEELVzztlqzKjvmg96IDEOsCEEgZCu
        FM3jlj31R4p0IqQyWOETgggmwrRuRpuwyEjUpZuHYu88F5MeJ2/jme9CZuJJG4Br
        iaMy+2hyL/pn7D+PqB7GutAQVWC7PxZzImxYRoMuxvS/xaRRWYksa/zpaGbYmf6+
        FzSoIyxcbcaWzXAXRmZBBlJ3ueg79CifcjX2JL42pKBDrF9/eNTLZ5gOtzg9G2M=
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// An RSA key of 1,024 bits.
    static let weakRSAPEM = """
        -----BEGIN PRIVATE KEY-----
        MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAN/A6TDwp5ZOEkkE
        kd0cVflTtNvEp/6LRNzfgPuSNy6kfQsf+hVuCTvROvB/0jwDy8cGEcM0LJ0/v/iZ
        gQ4FFom66ybSnRh5eo6FSRowMvbyhNnC8XBhae1KgguK1nR5bhT0BysXxTmiG2vb
        2/DH2ror122WOQ1gSkzzQewZcW7BAgMBAAECgYBRFFJrzYisynWNx/4jJVVyF4b9
        6/EEJ+s4LjVK89zTJf+5vEie41StPFAjPe4smSOKZwSgu5M/GA60QsulDOrxKAya
        GpdoHNdWp/SUjvbWkx6UXEjJy2DaJCqh9W2+wfYUzXGHQ9qWoeUu9wvOVtlI/Ove
        KAYJ/Py/RYBOgzKeUQJBAPp2X305aWAv0IAxbA367FF8DVvx/d/q13+Ei3mJRqwS
        Y4O2/GqJRS3ukhBId5zCwJpjch4dl/OlLRr3DIr6lCsCQQDks11l2D/vK5KFH06K
        9mWtGGnM63XpFXgjKT5aWVYqRX/8YhG6icI254xvvrUIV+w4cgI9dnZMGn4fca47
        tLbDAkEA9nElEg08n1VM3eZDQRpGDwN2DaN1vy7PLfzYVBT8AfHyEzco9Rbuh/x3
        oif78bY7V25EaleKHUXItQCjSdi3kwJAePNzXb10cqT0pHreKxgMxfK3YazVeyPj
        mZTiaR3+N/TxrySeg6z/jdH/r8mILJVzVJbXIHJaNf183lxc7S6xyQJAVl3e8m1b
        hSzWyw+sOOKm0mP6Ujannpryq9VBtY31DoK6QC7TK2cFEfsUNrG3xaNX3+nhXyMs
        TPs/FCaMKw715A==
        -----END PRIVATE KEY-----
        """

    /// A key of a curve that JWS does not know here.
    static let secp256k1PEM = """
        -----BEGIN PRIVATE KEY-----
        MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgjKhav+yl/P0vWQFL6yNF
        4WJqlbpSAb8r06VMRaGnB1mhRANCAATtB6hlvWmgNoOzqXdeANdpk3Y+CL+a0JAT
        YoJfZdQbENk9bJV2bzPkrW6Z7aCRU7Q3lqinXEgB5WvW9dVokzxV
        -----END PRIVATE KEY-----
        """
}
