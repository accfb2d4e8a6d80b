// Package certificates gives ApplicationMasters that start their certificates, as the cluster's policy says.
package certificates

import (
	"context"
	"errors"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/proxyca"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Issuer certifies ApplicationMasters. The zero Issuer certifies none.
type Issuer struct {
	Policy string // of proxyca
	Log    *logrus.Entry
	opened proxyca.Opened
}

// On reports whether a policy has ApplicationMasters certified.
func On(policy string) bool { return policy == proxyca.Lenient || policy == proxyca.Strict }

// patience is the least rest of the time for a launch in which it waits until there is an authority.
const patience = 15 * time.Second

// errNone says that a launch must be tried again.
var errNone = errors.New("there is no authority for certificates of ApplicationMasters yet: there is one when all ResourceManagers are up, and run a release with version 12 of the ledger")

// Add puts a certificate of an application into credentials; secret is that of the authority, nil if there is none yet. Then it fails, and an
// ApplicationMaster that may do without a certificate starts without one when the time of ctx is half over.
func (i *Issuer) Add(ctx context.Context, secret []byte, creds *token.Credentials, app records.ApplicationID) error {
	if !On(i.Policy) {
		return nil
	}
	if secret == nil {
		end, bounded := ctx.Deadline()
		if i.Policy == proxyca.Strict || bounded && time.Until(end) > patience {
			return errNone
		}
		i.Log.WithField("application", app).WithError(errNone).Warn("an ApplicationMaster starts without a certificate")
		return nil
	}
	ca, err := i.opened.Open(secret)
	if err != nil {
		return err
	}
	return ca.Certify(creds, app, time.Now())
}
