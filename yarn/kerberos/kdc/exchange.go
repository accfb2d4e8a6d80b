package kdc

import (
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Login gets a ticket for the KDC of a realm itself (AS exchange) for a principal, whose keys a keytab has.
func Login(c *config.Config, keys *keytab.Keytab, name types.PrincipalName, realm string) (messages.ASRep, error) {
	req, err := messages.NewASReqForTGT(realm, c, name)
	if err != nil {
		return messages.ASRep{}, err
	}
	answer, err := sendAS(c, &req)
	var refused messages.KRBError
	if errors.As(err, &refused) && (refused.ErrorCode == errorcode.KDC_ERR_PREAUTH_REQUIRED || refused.ErrorCode == errorcode.KDC_ERR_PREAUTH_FAILED) {
		proof, wrong := proofOfKey(refused.EData, keys, name, realm)
		if wrong != nil {
			return messages.ASRep{}, fmt.Errorf("the KDC asks for a proof: %w", wrong)
		}
		req.PAData = types.PADataSequence{proof}
		answer, err = sendAS(c, &req)
	}
	if err != nil {
		return messages.ASRep{}, err
	}
	return readAS(c, answer, req, credentials.NewFromPrincipalName(name, realm).WithKeytab(keys))
}

func sendAS(c *config.Config, req *messages.ASReq) ([]byte, error) {
	b, err := req.Marshal()
	if err != nil {
		return nil, err
	}
	return send(c, req.ReqBody.Realm, b)
}

// readAS reads and verifies an answer.
func readAS(c *config.Config, answer []byte, req messages.ASReq, who *credentials.Credentials) (rep messages.ASRep, err error) {
	defer noPanic(&err)
	if err := rep.Unmarshal(answer); err != nil {
		return rep, err
	}
	if ok, err := rep.Verify(c, who, req); !ok {
		return rep, fmt.Errorf("the answer isn't valid, or the keytab has other keys: %w", err)
	}
	return rep, nil
}

// proofOfKey returns the time, encrypted by the first key of a keytab whose cipher a KDC's error names (RFC 4120 §5.2.7.2).
func proofOfKey(hints []byte, keys *keytab.Keytab, name types.PrincipalName, realm string) (proof types.PAData, err error) {
	defer noPanic(&err)
	var all types.PADataSequence
	if err := all.Unmarshal(hints); err != nil {
		return proof, err
	}
	err = errors.New("it names no cipher")
	for i := range all {
		if all[i].PADataType != patype.PA_ETYPE_INFO2 {
			continue
		}
		ciphers, wrong := all[i].GetETypeInfo2()
		if wrong != nil {
			return proof, wrong
		}
		for _, cipher := range ciphers {
			var key types.EncryptionKey
			var version int
			if key, version, err = keys.GetEncryptionKey(name, realm, 0, cipher.EType); err == nil {
				return encryptedTime(key, version)
			}
		}
	}
	return proof, err
}

func encryptedTime(key types.EncryptionKey, version int) (proof types.PAData, err error) {
	now, err := types.GetPAEncTSEncAsnMarshalled()
	if err != nil {
		return proof, err
	}
	part, err := crypto.GetEncryptedData(now, key, keyusage.AS_REQ_PA_ENC_TIMESTAMP, version)
	if err != nil {
		return proof, err
	}
	b, err := part.Marshal()
	return types.PAData{PADataType: patype.PA_ENC_TIMESTAMP, PADataValue: b}, err
}

// Grant is a ticket for the KDC of a realm (krbtgt/REALM).
type Grant struct {
	Ticket messages.Ticket
	Key    types.EncryptionKey
}

// Ticket gets a ticket of a service, or of another KDC, from the KDC of a realm (TGS exchange). The client is a principal whose grant for this KDC is given. A KDC may answer with
// a ticket for another one.
func Ticket(c *config.Config, g Grant, client types.PrincipalName, clientRealm string, service types.PrincipalName, realm string) (messages.TGSRep, error) {
	req, err := tgsRequest(c, g, client, clientRealm, service, realm)
	if err != nil {
		return messages.TGSRep{}, err
	}
	b, err := req.Marshal()
	if err != nil {
		return messages.TGSRep{}, err
	}
	answer, err := send(c, realm, b)
	if err != nil {
		return messages.TGSRep{}, err
	}
	return readTGS(c, answer, req, g.Key)
}

// readTGS reads and verifies an answer.
func readTGS(c *config.Config, answer []byte, req messages.TGSReq, key types.EncryptionKey) (rep messages.TGSRep, err error) {
	defer noPanic(&err)
	if err := rep.Unmarshal(answer); err != nil {
		return rep, err
	}
	if err := rep.DecryptEncPart(key); err != nil {
		return rep, err
	}
	if len(rep.Ticket.SName.NameString) == 0 {
		return rep, errors.New("the answer has a ticket without a name")
	}
	if ok, err := rep.Verify(c, req); !ok {
		return rep, fmt.Errorf("the answer isn't valid: %w", err)
	}
	return rep, nil
}

// tgsRequest returns a request for a ticket. gokrb5's takes the realm of the granting ticket for the client's.
func tgsRequest(c *config.Config, g Grant, client types.PrincipalName, clientRealm string, service types.PrincipalName, realm string) (messages.TGSReq, error) {
	req, err := messages.NewTGSReq(client, realm, c, g.Ticket, g.Key, service, false)
	if err != nil || g.Ticket.Realm == clientRealm {
		return req, err
	}
	body, err := req.ReqBody.Marshal()
	if err != nil {
		return req, err
	}
	cipher, err := crypto.GetEtype(g.Key.KeyType)
	if err != nil {
		return req, err
	}
	auth, err := types.NewAuthenticator(clientRealm, client)
	if err != nil {
		return req, err
	}
	sum, err := cipher.GetChecksumHash(g.Key.KeyValue, body, keyusage.TGS_REQ_PA_TGS_REQ_AP_REQ_AUTHENTICATOR_CHKSUM)
	if err != nil {
		return req, err
	}
	auth.Cksum = types.Checksum{CksumType: cipher.GetHashID(), Checksum: sum}
	proof, err := messages.NewAPReq(g.Ticket, g.Key, auth)
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
