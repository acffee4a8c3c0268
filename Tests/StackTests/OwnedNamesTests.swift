import PowerSyncStack
import Testing

@Suite struct OwnedNamesTests {
    @Test func readsItsOwnNamesBack() {
        let names = OwnedNames()
        #expect(OwnedNames(reading: names.database) == names)
        #expect(OwnedNames(reading: names.slotPrefix + "1_ab12") == names)
        #expect(names.database.utf8.count <= 63)
        #expect(names != OwnedNames())
    }

    @Test(arguments: [
        "powersync_1_ab12", "powersync_stack_", "powersync_stack_abc", "powersync_stack_abcdefabcdefx",
        "powersync_stack_ghijklghijkl", "postgres", "my_powersync_stack_0123456789ab",
        "powersync_stack_ABCDEF012345", "powersync_stack_\u{FF10}123456789ab",
    ])
    func takesNobodyElsesNameForItsOwn(name: String) {
        #expect(OwnedNames(reading: name) == nil)
    }
}
