package token

import (
	"fmt"
	"strings"

	"heddle/yarn/writable"
)

// HDFS is the identity in a NameNode's delegation token (Hadoop: AbstractDelegationTokenIdentifier). Its fields are those of Delegation.
type HDFS Delegation

// Encode returns the bytes of the identifier.
func (id HDFS) Encode() []byte {
	b := []byte{0} // the only version
	for _, name := range []string{id.Owner, id.Renewer, id.RealUser} {
		b = writable.AppendText(b, name)
	}
	for _, n := range []int64{id.IssueMS, id.MaxMS, int64(id.Sequence), int64(id.KeyID)} {
		b = writable.AppendVLong(b, n)
	}
	return b
}

// ParseHDFS reads the bytes of the identifier.
func ParseHDFS(b []byte) (id HDFS, err error) {
	r := writable.NewReader(b)
	if version, err := r.Byte(); err != nil || version != 0 {
		return id, fmt.Errorf("identifier of a token for HDFS: version %d (%w)", version, err)
	}
	for _, name := range []*string{&id.Owner, &id.Renewer, &id.RealUser} {
		if *name, err = r.Text(); err != nil {
			return id, fmt.Errorf("identifier of a token for HDFS: %w", err)
		}
	}
	for _, n := range []*int64{&id.IssueMS, &id.MaxMS} {
		if *n, err = r.VLong(); err != nil {
			return id, fmt.Errorf("identifier of a token for HDFS: %w", err)
		}
	}
	for _, n := range []*int32{&id.Sequence, &id.KeyID} {
		if *n, err = r.VInt(); err != nil {
			return id, fmt.Errorf("identifier of a token for HDFS: %w", err)
		}
	}
	return id, nil
}

// identity returns what the identifier of a delegation token says. known is false for other kinds, and for what can't be read.
func identity(t Token) (id Delegation, known bool) {
	var err error
	switch t.Kind {
	case KindHDFS, KindKMS:
		var h HDFS
		h, err = ParseHDFS(t.Identifier)
		id = Delegation(h)
	case KindDelegation, KindTimeline:
		id, err = ParseDelegation(t.Identifier)
	default:
		return id, false
	}
	return id, err == nil
}

// HasNoRenewer reports whether a delegation token says that it isn't to be renewed. So clients mark those that they replace themselves, such as Flink, and those of clusters that
// trust no ResourceManager here (Hadoop: DelegationTokenRenewer.skipTokenRenewal).
func HasNoRenewer(t Token) bool {
	id, known := identity(t)
	return known && id.Renewer == ""
}

// Describe shows a token of HDFS or of ResourceManagers without its password, as Hadoop does (Token.toString, DelegationTokenIdentifier.toString); of the owner's name it shows the first part.
func Describe(t Token) string {
	id, known := identity(t)
	if !known || t.Kind != KindHDFS && t.Kind != KindDelegation {
		return t.String()
	}
	short, _, _ := strings.Cut(id.Owner, "@")
	short, _, _ = strings.Cut(short, "/")
	return fmt.Sprintf("Kind: %s, Service: %s, Ident: (token for %s: %s owner=%s, renewer=%s, realUser=%s, issueDate=%d, maxDate=%d, sequenceNumber=%d, masterKeyId=%d)",
		t.Kind, t.Service, short, t.Kind, id.Owner, id.Renewer, id.RealUser, id.IssueMS, id.MaxMS, id.Sequence, id.KeyID)
}
