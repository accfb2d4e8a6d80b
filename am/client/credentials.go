package client

import (
	"errors"
	"fmt"
	"os"

	"heddle/internal/bounded"
	"heddle/yarn/token"
)

// TokenFileVariable is the environment variable that names the file with a container's credentials.
const TokenFileVariable = "HADOOP_TOKEN_FILE_LOCATION"

// maxCredentials bounds a file of credentials, in bytes.
const maxCredentials = 64 << 20

// LoadCredentials reads the credentials that the NodeManager wrote for this process. getenv defaults to os.LookupEnv.
func LoadCredentials(getenv func(string) (string, bool)) (*token.Credentials, error) {
	if getenv == nil {
		getenv = os.LookupEnv
	}
	path, ok := getenv(TokenFileVariable)
	if !ok {
		return nil, errors.New(TokenFileVariable + " is not set: this process isn't a container of a NodeManager")
	}
	raw, err := bounded.ReadFile(path, maxCredentials)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", TokenFileVariable, err)
	}
	c, err := token.DecodeCredentials(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", TokenFileVariable, path, err)
	}
	return c, nil
}

// WithoutMasterToken returns a copy of the credentials without the token that only the ApplicationMaster may have.
func WithoutMasterToken(c *token.Credentials) *token.Credentials {
	out := &token.Credentials{Secrets: c.Secrets}
	for _, t := range c.Tokens {
		if t.Token.Kind != token.KindAMRM {
			out.Tokens = append(out.Tokens, t)
		}
	}
	return out
}

// Tokens returns the tokens in c without their aliases.
func Tokens(c *token.Credentials) []token.Token {
	var out []token.Token
	for _, t := range c.Tokens {
		out = append(out, t.Token)
	}
	return out
}
