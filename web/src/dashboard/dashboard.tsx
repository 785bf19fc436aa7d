/** The dashboard. */
export function Dashboard() {
  return <p>Dashboard</p>;
}
