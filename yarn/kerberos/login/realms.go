package login

import (
	"fmt"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"heddle/yarn/kerberos/kdc"
	"heddle/yarn/kerberos/krb5conf"
)

// maxRealms bounds the KDCs that refer to one another for one ticket.
const maxRealms = 10

// grant is a ticket for the KDC of a realm, and when it ends.
type grant struct {
	kdc.Grant
	end time.Time
}

// serviceTicket has KDCs make a ticket of a service. Its realm is that of its host in krb5.conf, which may be another than the client's: then the client's KDC gives a ticket
// for the KDC of the other one, or for one on the way (RFC 4120 §1.2). Call it with the turn.
func (l *Login) serviceTicket(s *session, service, host string) (messages.TGSRep, error) {
	realm := krb5conf.RealmOf(l.conf, host)
	if realm == "" {
		realm = l.realm
	}
	g, err := l.grantOf(s, realm)
	if err != nil {
		return messages.TGSRep{}, err
	}
	return l.through(types.PrincipalName{NameType: 2, NameString: []string{service, host}}, realm, g)
}

// grantOf returns a ticket for the KDC of a realm.
func (l *Login) grantOf(s *session, realm string) (grant, error) {
	own := grant{kdc.Grant{Ticket: s.tgt, Key: s.key}, s.end}
	if realm == l.realm {
		return own, nil
	}
	if g, ok := s.grants[realm]; ok && l.now().Add(fresh).Before(g.end) {
		return g, nil
	}
	rep, err := l.through(types.PrincipalName{NameType: 2, NameString: []string{"krbtgt", realm}}, l.realm, own)
	if err != nil {
		return grant{}, fmt.Errorf("the realm %s gives none for the KDC of %s, and they must trust each other (krbtgt/%[2]s@%[1]s): %[3]w", l.realm, realm, err)
	}
	g := granted(rep)
	if s.grants == nil {
		s.grants = map[string]grant{}
	}
	s.grants[realm] = g
	return g, nil
}

func granted(rep messages.TGSRep) grant {
	return grant{kdc.Grant{Ticket: rep.Ticket, Key: rep.DecryptedEncPart.Key}, rep.DecryptedEncPart.EndTime}
}

// through asks the KDC of a realm, and those that it refers to.
func (l *Login) through(name types.PrincipalName, realm string, g grant) (messages.TGSRep, error) {
	for range maxRealms {
		rep, err := kdc.Ticket(l.conf, g.Grant, l.name, l.realm, name, realm)
		if err != nil {
			return rep, err
		}
		got := rep.Ticket.SName
		if len(got.NameString) != 2 || got.NameString[0] != "krbtgt" || got.Equal(name) {
			return rep, nil
		}
		realm, g = got.NameString[1], granted(rep) // a referral
	}
	return messages.TGSRep{}, fmt.Errorf("%d KDCs refer to one another", maxRealms)
}
