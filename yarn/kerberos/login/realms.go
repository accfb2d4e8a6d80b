package login

import (
	"fmt"
	"time"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"heddle/yarn/kerberos/krb5conf"
)

const (
	// mostRealms bounds the KDCs that refer to one another for one ticket.
	mostRealms = 10
	// noReferrals has gokrb5 leave referrals to us: it would name the wrong realm of the client after the first one.
	noReferrals = 6
)

// grant is a ticket for the KDC of a realm (krbtgt/REALM).
type grant struct {
	ticket messages.Ticket
	key    types.EncryptionKey
	end    time.Time
}

// serviceTicket has KDCs make a ticket of a service. Its realm is that of its host in krb5.conf, which may be another than the client's: then the client's KDC gives a ticket
// for the KDC of the other one, or for one on the way (RFC 4120 §1.2). Call it with the turn.
func (l *Login) serviceTicket(s *session, service, host string) (messages.TGSRep, error) {
	realm := krb5conf.RealmOf(s.client.Config, host)
	if realm == "" {
		realm = l.realm
	}
	g, err := l.grantOf(s, realm)
	if err != nil {
		return messages.TGSRep{}, err
	}
	return l.through(s, types.PrincipalName{NameType: 2, NameString: []string{service, host}}, realm, g)
}

// grantOf returns a ticket for the KDC of a realm.
func (l *Login) grantOf(s *session, realm string) (grant, error) {
	own := grant{s.tgt, s.key, s.end}
	if realm == l.realm {
		return own, nil
	}
	if g, ok := s.grants[realm]; ok && l.now().Add(fresh).Before(g.end) {
		return g, nil
	}
	rep, err := l.through(s, types.PrincipalName{NameType: 2, NameString: []string{"krbtgt", realm}}, l.realm, own)
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
	return grant{rep.Ticket, rep.DecryptedEncPart.Key, rep.DecryptedEncPart.EndTime}
}

// through asks the KDC of a realm, and those that it refers to.
func (l *Login) through(s *session, name types.PrincipalName, realm string, g grant) (messages.TGSRep, error) {
	for range mostRealms {
		req, err := l.tgsRequest(s, name, realm, g)
		if err != nil {
			return messages.TGSRep{}, err
		}
		_, rep, err := s.client.TGSExchange(req, realm, g.ticket, g.key, noReferrals)
		next, refers := referral(rep, name)
		if !refers {
			return rep, err
		}
		realm, g = next, granted(rep)
	}
	return messages.TGSRep{}, fmt.Errorf("%d KDCs refer to one another", mostRealms)
}

// referral returns the realm whose KDC a reply refers to.
func referral(rep messages.TGSRep, name types.PrincipalName) (realm string, ok bool) {
	got := rep.Ticket.SName
	if len(got.NameString) != 2 || got.NameString[0] != "krbtgt" || got.NameString[1] == "" || got.Equal(name) || len(rep.DecryptedEncPart.Key.KeyValue) == 0 {
		return "", false
	}
	return got.NameString[1], true
}

// tgsRequest returns a request for a ticket. gokrb5's takes the realm of the granting ticket for the client's.
func (l *Login) tgsRequest(s *session, name types.PrincipalName, realm string, g grant) (messages.TGSReq, error) {
	req, err := messages.NewTGSReq(l.name, realm, s.client.Config, g.ticket, g.key, name, false)
	if err != nil || g.ticket.Realm == l.realm {
		return req, err
	}
	body, err := req.ReqBody.Marshal()
	if err != nil {
		return req, err
	}
	cipher, err := crypto.GetEtype(g.key.KeyType)
	if err != nil {
		return req, err
	}
	auth, err := types.NewAuthenticator(l.realm, l.name)
	if err != nil {
		return req, err
	}
	sum, err := cipher.GetChecksumHash(g.key.KeyValue, body, keyusage.TGS_REQ_PA_TGS_REQ_AP_REQ_AUTHENTICATOR_CHKSUM)
	if err != nil {
		return req, err
	}
	auth.Cksum = types.Checksum{CksumType: cipher.GetHashID(), Checksum: sum}
	proof, err := messages.NewAPReq(g.ticket, g.key, auth)
	if err != nil {
		return req, err
	}
	b, err := proof.Marshal()
	if err != nil {
		return req, err
	}
	req.PAData = types.PADataSequence{{PADataType: patype.PA_TGS_REQ, PADataValue: b}}
	return req, nil
}
