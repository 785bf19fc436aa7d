package bellwether

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const patience = 30 * time.Second

// up is a cluster of `bellwether up` that the tests share.
type up struct {
	command   *exec.Cmd
	stdin     io.WriteCloser
	endpoints []string
}

var cluster *up

func TestMain(m *testing.M) {
	program := os.Getenv("BELLWETHER")
	if program == "" {
		program = "../../target/debug/bellwether"
	}
	if _, err := os.Stat(program); err != nil {
		fmt.Println("skipped: there is no", program, "(name it with BELLWETHER)")
		os.Exit(0)
	}
	var err error
	if cluster, err = start(program); err != nil {
		fmt.Println("cannot start the cluster:", err)
		os.Exit(1)
	}
	code := m.Run()
	cluster.stdin.Close()
	cluster.command.Process.Kill()
	cluster.command.Wait()
	os.Exit(code)
}

func start(program string) (*up, error) {
	command := exec.Command(program, "up", "--plain", "--nodes", "3", "--for", "120s")
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	u := &up{command: command, stdin: stdin}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 5 && words[0] == "member" {
			u.endpoints = append(u.endpoints, words[4])
		}
		if len(words) > 0 && words[0] == "Ctrl-C" {
			go io.Copy(io.Discard, stdout)
			return u, nil
		}
	}
	return nil, errors.New("it ended too early")
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func session(t *testing.T, ttl time.Duration) *Session {
	t.Helper()
	s, err := NewSession(within(t), NewClient(cluster.endpoints...), WithTTL(ttl), WithName("go test"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAMutexExcludes(t *testing.T) {
	ctx := within(t)
	one, other := NewMutex(session(t, 5*time.Second), "go"), NewMutex(session(t, 5*time.Second), "go")
	check(t, one.Lock(ctx))
	if err := other.TryLock(ctx); !errors.Is(err, ErrLocked) {
		t.Fatal(err)
	}
	before := one.Token()
	done := make(chan error)
	go func() { done <- other.Lock(ctx) }()
	select {
	case err := <-done:
		t.Fatal("two hold one lock", err)
	case <-time.After(200 * time.Millisecond):
	}
	check(t, one.Unlock(ctx))
	check(t, <-done)
	if other.Token() <= before {
		t.Fatal("tokens grow", before, other.Token())
	}
	check(t, other.Unlock(ctx))
	if err := other.Unlock(ctx); !errors.Is(err, ErrNotHeld) {
		t.Fatal(err)
	}
}

func TestACancelledLockLeavesNothingBehind(t *testing.T) {
	ctx := within(t)
	one, other, third := NewMutex(session(t, 5*time.Second), "cancel"), NewMutex(session(t, 5*time.Second), "cancel"), NewMutex(session(t, 5*time.Second), "cancel")
	check(t, one.Lock(ctx))
	short, cancel := context.WithTimeout(ctx, 150*time.Millisecond)
	defer cancel()
	if err := other.Lock(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	check(t, one.Unlock(ctx))
	check(t, third.Lock(ctx))
	check(t, third.Unlock(ctx))
}

func TestAnElectionHasOneLeader(t *testing.T) {
	ctx := within(t)
	one, other := NewElection(session(t, 5*time.Second), "a role/1"), NewElection(session(t, 5*time.Second), "a role/1")
	check(t, one.Campaign(ctx, "host-1"))
	changes := other.Observe(ctx)
	if leader := <-changes; leader.Value != "host-1" || leader.Token != one.Token() {
		t.Fatal(leader)
	}
	check(t, one.Proclaim(ctx, "host-1b"))
	if leader := <-changes; leader.Value != "host-1b" {
		t.Fatal(leader)
	}
	done := make(chan error)
	go func() { done <- other.Campaign(ctx, "host-2") }()
	check(t, one.Resign(ctx))
	check(t, <-done)
	for leader := range changes {
		if leader.Value == "host-2" {
			break
		}
	}
	leader, err := one.Leader(ctx)
	check(t, err)
	if leader.Token != other.Token() {
		t.Fatal(leader)
	}
	check(t, other.Resign(ctx))
}

func TestASessionThatIsClosedGivesBack(t *testing.T) {
	ctx := within(t)
	one := session(t, 5*time.Second)
	check(t, NewMutex(one, "closed").Lock(ctx))
	check(t, one.Close())
	select {
	case <-one.Done():
	default:
		t.Fatal("it is not done")
	}
	if err := NewMutex(one, "closed").Lock(ctx); !errors.Is(err, ErrSessionDone) {
		t.Fatal(err)
	}
	other := NewMutex(session(t, 5*time.Second), "closed")
	check(t, other.Lock(ctx))
	check(t, other.Unlock(ctx))
}

func TestADeadlineCountsFromSending(t *testing.T) {
	one := session(t, 2*time.Second)
	// No member answers any more: it ends by itself, before the TTL is over.
	one.client.endpoints = []string{"http://127.0.0.1:1"}
	began := time.Now()
	select {
	case <-one.Done():
	case <-time.After(patience):
		t.Fatal("it never ends")
	}
	if after := time.Since(began); after > 2*time.Second || one.Alive() {
		t.Fatal("it ended after ", after)
	}
}

// The last one: the coordinator is killed, and sessions go on.
func TestZKilledLeader(t *testing.T) {
	ctx := within(t)
	one := session(t, 20*time.Second)
	mutex := NewMutex(one, "survivor")
	check(t, mutex.Lock(ctx))
	// Of three members the largest leads.
	fmt.Fprintln(cluster.stdin, "kill 3")
	other := NewMutex(session(t, 5*time.Second), "after the fall")
	check(t, other.Lock(ctx))
	if other.Token() <= mutex.Token() {
		t.Fatal("tokens grow")
	}
	if !one.Alive() {
		t.Fatal("the session is lost")
	}
	check(t, mutex.Unlock(ctx))
	check(t, other.Unlock(ctx))
}
