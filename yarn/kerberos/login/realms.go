package login

import (
	"errors"
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
	g, err := l.towards(realm, own)
	if err != nil {
		return grant{}, err
	}
	if s.grants == nil {
		s.grants = map[string]grant{}
	}
	s.grants[realm] = g
	return g, nil
}

// towards returns a ticket for the KDC of another realm. It goes as far as each KDC on the way knows one, as MIT's library and Java do.
func (l *Login) towards(realm string, own grant) (grant, error) {
	way := l.conf.Between(l.realm, realm)
	way = append(way[:min(len(way), maxRealms)], realm)
	at, here := own, l.realm
	for len(way) > 0 {
		next, far, err := l.farthest(way, here, at)
		if err != nil {
			return grant{}, fmt.Errorf("the realm %s gives none for the KDC of %s, and they must trust each other (krbtgt/%[2]s@%[1]s), or realms on the way that [capaths] of krb5.conf names: %[3]w", here, realm, err)
		}
		at, here, way = next, way[far], way[far+1:]
	}
	return at, nil
}

// farthest asks the KDC of a realm for a ticket of the last realm of a way, or else of one before it, and returns which it was. The error is of the last.
func (l *Login) farthest(way []string, here string, at grant) (g grant, far int, err error) {
	for far = len(way) - 1; far >= 0; far-- {
		rep, failed := l.through(types.PrincipalName{NameType: 2, NameString: []string{"krbtgt", way[far]}}, here, at)
		if failed == nil {
			return granted(rep), far, nil
		}
		if err == nil {
			err = failed
		}
		if errors.Is(failed, kdc.ErrAway) {
			break
		}
	}
	return grant{}, 0, err
}

func granted(rep messages.TGSRep) grant {
	return grant{kdc.Grant{Ticket: rep.Ticket, Key: rep.DecryptedEncPart.Key}, rep.DecryptedEncPart.EndTime}
}

// through asks the KDC of a realm, and those that it refers to.
func (l *Login) through(name types.PrincipalName, realm string, g grant) (messages.TGSRep, error) {
	for range maxRealms {
		rep, err := kdc.Ticket(l.conf.Config, g.Grant, l.name, l.realm, name, realm)
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
