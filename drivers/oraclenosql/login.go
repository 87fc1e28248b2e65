package oraclenosql

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/oracle/nosql-go-sdk/nosqldb/auth/kvstore"

	"github.com/mailbench/mailbench/drivers"
)

// The environment variables with user and password. No flag, file or result holds these.
const (
	userVariable         = "MAILBENCH_ORACLENOSQL_USER"
	passwordVariable     = "MAILBENCH_ORACLENOSQL_PASSWORD"
	passwordFileVariable = "MAILBENCH_ORACLENOSQL_PASSWORD_FILE"
)

var environment = []drivers.Setting{
	{Name: userVariable, Doc: "user, if the store asks for one; the proxy gives an access token for it"},
	{Name: passwordVariable, Doc: "the user's password"},
	{Name: passwordFileVariable, Doc: "file with the password, in place of the password itself"},
}

// login is a user, whose access token all clients of a store share.
type login struct {
	user, password string
	once           sync.Once
	shared         *kvstore.AccessTokenProvider
	err            error
}

// provider returns what gets access tokens from the proxy.
func (l *login) provider() (*kvstore.AccessTokenProvider, error) {
	l.once.Do(func() { l.shared, l.err = kvstore.NewAccessTokenProvider(l.user, []byte(l.password)) })
	return l.shared, l.err
}

// readLogin reads user and password. They go only to hosts that the user named, and over
// TLS or to this machine.
func readLogin(o drivers.Options, encrypted bool) (*login, error) {
	l := &login{user: os.Getenv(userVariable), password: os.Getenv(passwordVariable)}
	file := os.Getenv(passwordFileVariable)
	switch {
	case l.user == "" && l.password == "" && file == "":
		return nil, nil
	case l.user == "":
		return nil, fmt.Errorf("there is a password but no user: set %s too", userVariable)
	case l.password != "" && file != "":
		return nil, fmt.Errorf("%s and %s are both set: set only one", passwordVariable, passwordFileVariable)
	case file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the password named by %s: %w", passwordFileVariable, err)
		}
		l.password = strings.TrimRight(string(b), "\r\n")
	}
	if l.password == "" {
		return nil, fmt.Errorf("there is a user but no password: set %s or %s", passwordVariable, passwordFileVariable)
	}
	return l, mayGo(o, encrypted)
}

// mayGo returns an error if the password may not go to a contact.
func mayGo(o drivers.Options, encrypted bool) error {
	if len(o.Contact) > 0 && !o.Named {
		return fmt.Errorf("the workload names %s, and a password goes only to hosts that you name yourself: add --contact %s, "+
			"or unset %s", strings.Join(o.Contact, ", "), strings.Join(o.Contact, ","), userVariable)
	}
	for _, c := range o.Contact {
		host, _, err := net.SplitHostPort(c)
		if err != nil {
			host = strings.Trim(c, "[]")
		}
		ip := net.ParseIP(host)
		if !encrypted && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return errors.New("the password would go to " + host + " without TLS, where others can read it: set tls to true")
		}
	}
	return nil
}
