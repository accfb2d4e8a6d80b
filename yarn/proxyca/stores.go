package proxyca

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"time"

	"heddle/internal/keystore"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Secrets of an ApplicationMaster's credentials (Hadoop: AMSecretKeys).
const (
	keystoreAlias   = "yarn.application.am.keystore"
	truststoreAlias = "yarn.application.am.truststore"
	passwordSuffix  = ".password"
)

// Certify puts a new certificate of an application into credentials: a keystore with its key, the truststore that knows the proxy, and the
// password of each.
func (a *Authority) Certify(creds *token.Credentials, app records.ApplicationID, now time.Time) error {
	key, cert, err := a.issue(app, now)
	if err != nil {
		return fmt.Errorf("certificate of %v: %w", app, err)
	}
	for _, s := range []struct {
		alias string
		entry keystore.Key
	}{
		{keystoreAlias, keystore.Key{Alias: "server", Private: key, Chain: []*x509.Certificate{cert, a.cert}}},
		{truststoreAlias, keystore.Key{Alias: "client", Chain: []*x509.Certificate{a.cert}}},
	} {
		password := rand.Text() // letters and digits: scripts set it
		file, err := keystore.JKS(password, now, s.entry)
		if err != nil {
			return fmt.Errorf("certificate of %v: %w", app, err)
		}
		creds.SetSecret(s.alias, file)
		creds.SetSecret(s.alias+passwordSuffix, []byte(password))
	}
	return nil
}

// Store is a keystore that a container finds beside its credentials.
type Store struct {
	File             string // its name in the work folder (Hadoop: ContainerLaunch.KEYSTORE_FILE, TRUSTSTORE_FILE)
	Location         string // the variable with the file's path (Hadoop: ApplicationConstants)
	PasswordVariable string
	Content          []byte
	Password         string
}

// kinds are the stores that containers may have.
var kinds = []struct{ alias, file, variables string }{
	{keystoreAlias, "yarn_provided.keystore", "KEYSTORE"},
	{truststoreAlias, "yarn_provided.truststore", "TRUSTSTORE"},
}

// Files returns the names of the files of stores.
func Files() (names []string) {
	for _, k := range kinds {
		names = append(names, k.file)
	}
	return names
}

// Stores returns the stores in a container's credentials; none if the credentials can't be read, or have none.
func Stores(raw []byte) (all []Store) {
	if !bytes.Contains(raw, []byte(keystoreAlias)) && !bytes.Contains(raw, []byte(truststoreAlias)) {
		return nil // most containers
	}
	creds, err := token.DecodeCredentials(raw)
	if err != nil {
		return nil // the container's own program says so
	}
	for _, k := range kinds {
		content, ok := creds.Secret(k.alias)
		if !ok {
			continue
		}
		password, _ := creds.Secret(k.alias + passwordSuffix)
		all = append(all, Store{
			File: k.file, Location: k.variables + "_FILE_LOCATION", PasswordVariable: k.variables + "_PASSWORD",
			Content: content, Password: string(password),
		})
	}
	return all
}
