// Package login is the commands heddle login and heddle logout: signing in at an OpenID provider for requests to ResourceManagers' web ports.
package login

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/command"
	"heddle/cmd/heddle/internal/signedin"
	"heddle/conf"
	"heddle/internal/plain"
	"heddle/yarn/rest/auth/openid"
)

const help = `Signs in at the OpenID provider of the configuration (heddle.openid.issuer) with any browser, on this or another machine.
heddle's commands then send the provider's token to the web ports of ResourceManagers. RPC needs a Kerberos ticket as before, where
the cluster has Kerberos.`

// New returns the commands. load reads the configuration.
func New(load func() (*conf.Config, error)) []*cobra.Command {
	run := func(act func(ctx context.Context, s *signedin.Store, out io.Writer) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			c, err := load()
			if err != nil {
				return err
			}
			s, err := signedin.Of(c)
			if err != nil {
				return err
			}
			if s == nil {
				return fmt.Errorf("this cluster has no OpenID provider: %s isn't set", openid.IssuerKey)
			}
			return act(cmd.Context(), s, plain.Writer{W: cmd.OutOrStdout()})
		}
	}
	return []*cobra.Command{
		{Use: "login", GroupID: command.Group, Short: "Sign in at the cluster's OpenID provider", Long: help, Args: cobra.NoArgs, RunE: run(in)},
		{Use: "logout", GroupID: command.Group, Short: "Forget what heddle login got", Args: cobra.NoArgs, RunE: run(out)},
	}
}

func in(ctx context.Context, s *signedin.Store, out io.Writer) error {
	var failed error
	l, err := s.SignIn(ctx, func(address, code string) {
		_, failed = fmt.Fprintf(out, "Open %s and sign in. Compare or enter the code %s\n", address, code)
	})
	if err != nil {
		return err
	}
	if failed == nil {
		_, failed = fmt.Fprintf(out, "Signed in as %s until %s\n", l.User, l.Ends.Format("2006-01-02 15:04:05 MST"))
	}
	return failed
}

func out(_ context.Context, s *signedin.Store, out io.Writer) error {
	said := "There was no login."
	was, err := s.Forget()
	if err != nil {
		return err
	}
	if was {
		said = "The login is forgotten."
	}
	_, err = fmt.Fprintln(out, said)
	return err
}
