package certificates

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/proxyca"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// What an ApplicationMaster gets depends on the policy, and on whether there is an authority yet.
func TestPolicies(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	for _, x := range []struct {
		policy  string
		exists  bool
		elapsed time.Duration // of the 30 s of a launch
		secrets int
		fails   bool
	}{
		{proxyca.None, true, 0, 0, false},
		{proxyca.Off, true, 0, 0, false},
		{"", true, 0, 0, false},
		{proxyca.Lenient, true, 0, 4, false},
		{proxyca.Strict, true, 0, 4, false},
		{proxyca.Lenient, false, 14 * time.Second, 0, true},
		{proxyca.Lenient, false, 15 * time.Second, 0, false},
		{proxyca.Strict, false, 29 * time.Second, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var secret []byte
			if x.exists {
				var err error
				if secret, err = proxyca.New(time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(x.elapsed)
			i, creds := &Issuer{Policy: x.policy, Log: logrus.NewEntry(log)}, &token.Credentials{}
			err := i.Add(ctx, secret, creds, records.ApplicationID{ClusterTimestamp: 7, ID: 1})
			if errors.Is(err, errNone) != x.fails || (err != nil) != x.fails || len(creds.Secrets) != x.secrets {
				t.Errorf("%+v: %d secrets, %v", x, len(creds.Secrets), err)
			}
		})
	}
	if err := (&Issuer{Policy: proxyca.Strict}).Add(t.Context(), []byte("x"), &token.Credentials{}, records.ApplicationID{}); err == nil {
		t.Error("a damaged authority certifies")
	}
}
