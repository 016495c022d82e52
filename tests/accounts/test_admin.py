"""The operator's admin: people can be made there, teams only be looked at."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from tests.factories import MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(UserFactory.create(is_staff=True, is_superuser=True))
    return client


@pytest.mark.parametrize("model", ["user", "team", "membership"])
def test_rows_are_listed(operator: Client, model: str):
    MembershipFactory.create()
    page = operator.get(reverse(f"admin:accounts_{model}_changelist"))
    assert page.status_code == 200


@pytest.mark.parametrize("model", ["team", "membership"])
def test_rows_that_need_an_entry_cannot_be_added(operator: Client, model: str):
    assert operator.get(reverse(f"admin:accounts_{model}_add")).status_code == 403


def test_person_is_added_with_the_address_in_lower_case(operator: Client):
    values = {"email": "New@Example.org", "name": "New", "usable_password": "false"}
    operator.post(reverse("admin:accounts_user_add"), values)
    assert User.objects.filter(email="new@example.org").exists()


def test_person_can_be_deactivated(operator: Client):
    person = UserFactory.create()
    address = reverse("admin:accounts_user_change", args=[person.id])
    assert operator.get(address).status_code == 200
    operator.post(address, {"email": person.email, "name": person.name})
    person.refresh_from_db()
    assert not person.is_active
