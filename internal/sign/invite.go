package sign

// CheckInvite checks that the key of a text signed a message of an invitation. It says
// nothing of whether anybody trusts that key.
func CheckInvite(text string, message, armored []byte) error {
	public, err := ParsePublic([]byte(text))
	if err != nil {
		return err
	}
	return Verify(public, NamespaceInvite, message, armored)
}
