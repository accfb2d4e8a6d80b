package kerberostest

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// usageTicket is the key usage of tickets (RFC 4120 §7.5.1).
const usageTicket = 2

// Name returns a principal's name, without its realm.
func Name(text string) types.PrincipalName {
	return types.PrincipalName{NameType: 1, NameString: strings.Split(text, "/")}
}

// Ticket makes the ticket of a client for the service of an entry, as a KDC that knows the entry's key would. It begins an hour before its end.
func Ticket(t testing.TB, e Entry, client string, end time.Time) (messages.Ticket, types.EncryptionKey) {
	t.Helper()
	account, clientRealm, _ := strings.Cut(client, "@")
	service, serviceRealm, _ := strings.Cut(e.Principal, "@")
	session := types.EncryptionKey{KeyType: int32(e.Cipher), KeyValue: bytes.Repeat([]byte{7}, len(e.Key))}
	start := end.Add(-time.Hour).UTC().Truncate(time.Second)
	part, err := asn1.Marshal(messages.EncTicketPart{
		Flags: asn1.BitString{Bytes: make([]byte, 4), BitLength: 32}, Key: session, CRealm: clientRealm, CName: Name(account),
		AuthTime: start, StartTime: start, EndTime: start.Add(time.Hour), RenewTill: start.Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	et, err := crypto.GetEtype(int32(e.Cipher))
	if err != nil {
		t.Fatal(err)
	}
	_, sealed, err := et.EncryptMessage(e.Key, asn1tools.AddASNAppTag(part, 3), usageTicket)
	if err != nil {
		t.Fatal(err)
	}
	return messages.Ticket{
		TktVNO: 5, Realm: serviceRealm, SName: Name(service), EncPart: types.EncryptedData{
			EType: int32(e.Cipher),
			KVNO:  int(e.Version), Cipher: sealed,
		},
	}, session
}
