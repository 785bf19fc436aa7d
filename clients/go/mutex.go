package bellwether

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// longest is how long a request waits at most before it is asked for again.
const longest = time.Hour

// Mutex is a lock that one session holds at a time, first come, first served.
type Mutex struct {
	s      *Session
	name   string
	number uint64
	token  uint64
}

// NewMutex returns a lock of this name, not yet held.
func NewMutex(s *Session, name string) *Mutex { return &Mutex{s: s, name: name} }

// Name returns the name of the lock.
func (m *Mutex) Name() string { return m.name }

// Token returns the fencing token of the held lock, which is larger than all before; 0 if it is not held.
func (m *Mutex) Token() uint64 { return m.token }

// Lock waits for the lock. If the context ends first, the request is given up.
func (m *Mutex) Lock(ctx context.Context) error { return m.acquire(ctx, longest) }

// TryLock acquires the lock if it is free, and returns ErrLocked if it is not.
func (m *Mutex) TryLock(ctx context.Context) error {
	err := m.acquire(ctx, 0)
	var refused *Error
	if errors.As(err, &refused) && refused.Code == "busy" {
		return ErrLocked
	}
	return err
}

func (m *Mutex) acquire(ctx context.Context, wait time.Duration) error {
	number := m.s.number.Add(1)
	token, err := m.ask(ctx, number, wait)
	if err != nil {
		if ctx.Err() != nil {
			m.giveUp(number)
			return ctx.Err()
		}
		return err
	}
	m.number, m.token = number, token
	return nil
}

func (m *Mutex) ask(ctx context.Context, number uint64, wait time.Duration) (uint64, error) {
	ask := map[string]any{
		"locks":   []map[string]string{{"name": m.name}},
		"number":  number,
		"wait_ms": wait.Milliseconds(),
	}
	var granted struct {
		Token uint64 `json:"token"`
	}
	err := m.s.ask(ctx, http.MethodPost, "/v1/sessions/"+m.s.id+"/locks", wait, ask, &granted)
	return granted.Token, err
}

// giveUp asks for the same request again and waits no longer for it, which takes it out of the queue. If it was granted
// in the same moment, it is given back.
func (m *Mutex) giveUp(number uint64) {
	ctx, cancel := context.WithDeadline(context.Background(), m.s.Deadline())
	defer cancel()
	if _, err := m.ask(ctx, number, time.Millisecond); err == nil {
		_ = m.release(ctx, number)
	}
}

// Unlock releases the lock.
func (m *Mutex) Unlock(ctx context.Context) error {
	if m.number == 0 {
		return ErrNotHeld
	}
	number := m.number
	m.number, m.token = 0, 0
	return m.release(ctx, number)
}

func (m *Mutex) release(ctx context.Context, number uint64) error {
	path := fmt.Sprintf("/v1/sessions/%s/locks/%d", m.s.id, number)
	err := m.s.ask(ctx, http.MethodDelete, path, 0, nil, nil)
	var refused *Error
	if errors.As(err, &refused) && refused.Status == http.StatusConflict {
		return ErrNotHeld
	}
	return err
}
